"""Whether a cell gives the same results again: reruns it by the stages' own commands, and compares."""
