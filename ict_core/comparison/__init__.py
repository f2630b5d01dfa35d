"""Our statistics on anybody's results: logs of other harnesses and plain tables, compared problem by problem."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
