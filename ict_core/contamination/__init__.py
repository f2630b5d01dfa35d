"""What of the evaluation may have been seen in training: the audit of the training data, and a probe of the base model.

No question, option or completion leaves this package: it returns counts, scores and ids (GPQA may not be shown).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
