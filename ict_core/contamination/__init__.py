"""The audit of the training data: which evaluation problems may have been seen in training.

No question or option leaves this package: it returns counts, scores and ids (GPQA may not be shown).
"""
