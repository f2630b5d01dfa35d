"""A reproducible benchmark and ablation harness for token selection in RLVR."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
