"""One of the four quadrants of advantage and entropy (after arXiv:2604.11056)."""

from typing import Literal

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch, quantile_of


def quadrant(
    batch: TokenBatch,
    generator: torch.Generator,
    *,
    sign: Literal["positive", "negative"],
    entropy: Literal["high", "low"],
    quantile: float,
) -> Tensor:
    """M = 1 where A has that sign and H1 is at or above (high) or below (low) its ``quantile`` over the batch."""
    mask, h1 = batch.mask, batch.statistics.h1
    high = h1 >= quantile_of(h1[mask].double(), quantile)
    advantages = batch.advantages.unsqueeze(-1)
    signed = advantages > 0 if sign == "positive" else advantages < 0
    return mask & signed & (high if entropy == "high" else ~high)
