"""What makes a training step cheap, with the same result but for rounding: packed passes and lean decoding.

The step itself (``training._trainer``) reads without it.
"""
