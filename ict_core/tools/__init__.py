"""What people ask beside running a study: its cost, whether this machine can, where a number comes from."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
