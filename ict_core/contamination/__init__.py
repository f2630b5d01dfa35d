"""What of the evaluation may have been seen in training: the audit of the training data.

No question or option leaves this package: it returns counts, scores and ids (GPQA may not be shown).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
