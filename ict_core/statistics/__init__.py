"""Pass@k, intervals, tests, power and what varies: data frames in, data frames out, no torch."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
