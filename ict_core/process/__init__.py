"""How a process lives: its numerics, packages and devices, who supervises it, how it fails, what it tells of itself."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
