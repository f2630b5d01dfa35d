"""Whether a cell comes out the same again: rerun through the stages' own commands, and compared."""
