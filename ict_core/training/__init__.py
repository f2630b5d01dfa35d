"""Pretraining, and the training of a cell by TRL's GRPOTrainer; the only package that knows TRL."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
