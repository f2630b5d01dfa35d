"""20-Entropy: the highest-entropy tokens of the whole optimisation batch (arXiv:2506.01939)."""

from fractions import Fraction

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch, quantile_of


def high_entropy(batch: TokenBatch, generator: torch.Generator, *, fraction: Fraction) -> Tensor:
    """M = 1 where H1 >= its (1 - fraction) quantile over all response tokens of the optimisation batch."""
    h1 = batch.statistics.h1
    return (h1 >= quantile_of(h1[batch.mask].double(), float(1 - fraction))) & batch.mask
