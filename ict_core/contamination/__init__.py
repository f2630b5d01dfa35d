"""What of the evaluation may have been seen in training: the audit of the training data.

No question or option leaves this package: it returns counts, scores and ids (GPQA may not be shown).
"""
