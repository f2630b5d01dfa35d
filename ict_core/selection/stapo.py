"""STAPO: spurious tokens of successful rollouts are silenced (arXiv:2602.15620)."""

import torch
from torch import Tensor

from ict_core.selection.base import register, response_quantile
from ict_core.tokens.streaming import TokenStatistics


@register("stapo")
def stapo(
    tokens: TokenStatistics,
    advantages: Tensor,
    mask: Tensor,
    generator: torch.Generator,
    *,
    tau_p: float,
    tau_h: float,
) -> Tensor:
    """M = 0 where A > 0 and p < ``tau_p`` and H1 < the ``tau_h`` quantile of the batch; 1 at every other token."""
    threshold = response_quantile(tokens.h1, mask, tau_h)
    spurious = (advantages.unsqueeze(-1) > 0) & (tokens.logprob.exp() < tau_p) & (tokens.h1 < threshold)
    return mask & ~spurious
