"""The paper's theory of how the entropies change: its formulas, and how they fit measured tokens. Imports no torch."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
