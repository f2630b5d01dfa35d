"""Tools beside running a study: its cost, whether this machine can run it, where a number comes from."""
