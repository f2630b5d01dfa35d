"""Shadow scoring: every selection rule side by side on the same rollouts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
