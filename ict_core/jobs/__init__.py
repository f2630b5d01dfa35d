"""The jobs of a study: how they are started, how far they are, which files are damaged, why one has failed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
