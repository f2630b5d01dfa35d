"""20-Entropy: the highest-entropy tokens of the whole optimisation batch (arXiv:2506.01939)."""

from fractions import Fraction

import torch
from torch import Tensor

from ict_core.selection.base import register, response_quantile
from ict_core.tokens.streaming import TokenStatistics


@register("high-entropy")
def high_entropy(
    tokens: TokenStatistics, advantages: Tensor, mask: Tensor, generator: torch.Generator, *, fraction: Fraction
) -> Tensor:
    """M = 1 where H1 >= its (1 - fraction) quantile over all response tokens of the optimisation batch."""
    threshold = response_quantile(tokens.h1, mask, float(1 - fraction))
    return (tokens.h1 >= threshold) & mask
