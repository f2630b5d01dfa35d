"""What makes a training step cheap, with the same result but for rounding: packed passes and lean decoding.

``passes: dense`` in a recipe leaves all of it out. The step itself (``training.trainer``) reads without it.
"""
