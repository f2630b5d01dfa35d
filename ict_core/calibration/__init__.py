"""How often the intervals hold the truth and the tests err, measured on simulated studies."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
