"""Entropy-based advantage shaping (arXiv:2506.14758)."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch


def entropy_advantage(batch: TokenBatch, generator: torch.Generator, *, alpha: float, kappa: float) -> Tensor:
    """A' = A + min(``alpha`` H1, |A| / ``kappa``), as the weight A' / A; 1 where A = 0, as A' is 0 there.

    It raises A > 0 and softens A < 0; with kappa >= 1 no weight is below 0.
    """
    advantages = batch.advantages.unsqueeze(-1)
    bonus = torch.minimum(alpha * batch.statistics.h1, advantages.abs() / kappa)
    return torch.where(advantages == 0, 1.0, 1 + bonus / advantages) * batch.mask
