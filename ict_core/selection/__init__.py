"""Selection rules: each a free function of the batch whose tokens it chooses from, in a file of this folder."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
