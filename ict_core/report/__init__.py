"""The pages of a study: an overview with the verdicts, everything on one page, and the manifests of the runs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
