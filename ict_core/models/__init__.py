"""Base models: fetched from the hub or a folder, and read as data."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
