"""The life of a process: its numerics, packages and devices, its supervision, its failures, and its log of progress."""
