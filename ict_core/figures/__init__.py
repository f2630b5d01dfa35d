"""The figures of a study: each module draws one from a data frame; `_write.py` alone touches files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
