"""The problems of benchmarks and training sets, generated here or published, and the templates they stand in."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
