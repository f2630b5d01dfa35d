"""The tables of a study: each is a pure function of the frames of the statistics; `_write.py` alone touches files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
