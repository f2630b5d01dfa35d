"""Optimisations of a training step that change results only by rounding: packed passes and lean decoding.

``passes: dense`` in a recipe turns all of them off. The step itself (``training.trainer``) can be read without them.
"""
