"""ICT: the tokens whose distribution is most unlike their group's at the same position (arXiv:2606.19771)."""

from fractions import Fraction

import torch
from torch import Tensor

from ict_core.selection.base import register, top_fraction
from ict_core.tokens.streaming import TokenStatistics


@register("ict")
def ict(
    tokens: TokenStatistics, advantages: Tensor, mask: Tensor, generator: torch.Generator, *, fraction: Fraction
) -> Tensor:
    """M = 1 where u = JS(p, P_avg) is among the top ``fraction`` of its sequence (method specification, 2 and 3)."""
    return top_fraction(tokens.js, mask, fraction)
