"""Controls: what a gain must beat before it may be credited to a rule."""

from fractions import Fraction

import torch
from torch import Tensor

from ict_core.selection.base import register, top_fraction
from ict_core.tokens.streaming import TokenStatistics


@register("random")
def random_tokens(
    tokens: TokenStatistics, advantages: Tensor, mask: Tensor, generator: torch.Generator, *, fraction: Fraction
) -> Tensor:
    """M = 1 at ``fraction`` of each sequence's tokens, drawn at random: sparsity without a rule."""
    score = torch.rand(mask.shape, generator=generator, dtype=torch.float64).to(mask.device)
    return top_fraction(score, mask, fraction)
