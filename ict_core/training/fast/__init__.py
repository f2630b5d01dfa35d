"""Optimisations of a training step: packed passes differ by rounding, lean decoding draws other samples alike.

``passes: dense`` in a recipe turns all of them off. The step itself (``training.trainer``) can be read without them.
"""
