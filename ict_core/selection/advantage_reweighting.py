"""Advantage Reweighting: improbable tokens count less (arXiv:2505.12929; zhyang2226/AR-Lopti)."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch


def advantage_reweighting(batch: TokenBatch, generator: torch.Generator, *, alpha: float) -> Tensor:
    """w = ``alpha`` p + 1 - ``alpha``."""
    return (alpha * batch.statistics.logprob.exp() + 1 - alpha) * batch.mask
