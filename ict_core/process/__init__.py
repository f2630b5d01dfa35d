"""How a process lives: its numerics, packages and devices, who supervises it, how it fails, what it tells of itself."""
