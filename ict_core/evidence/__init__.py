"""The claims ledger: a claim of the paper, the test declared for it, and the verdict that a study's runs give."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
