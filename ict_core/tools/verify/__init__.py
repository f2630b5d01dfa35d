"""Whether a cell comes out the same again: rerun through the stages' own commands, and compared."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
