"""NAT: tokens drawn at random, weighted so that the expected gradient is that of all tokens (arXiv:2603.06619)."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch


def horvitz_thompson(batch: TokenBatch, generator: torch.Generator, *, probability: float) -> Tensor:
    """w = 1/q with probability q = ``probability``, else 0; tokens are drawn independently (NAT's uniform sampling)."""
    drawn = torch.rand(batch.mask.shape, generator=generator, dtype=torch.float64).to(batch.mask.device)
    return (drawn < probability) * batch.mask / probability
