"""STAPO: spurious tokens of successful rollouts are silenced (arXiv:2602.15620)."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch, quantile_of


def stapo(batch: TokenBatch, generator: torch.Generator, *, tau_p: float, tau_h: float) -> Tensor:
    """M = 0 where A > 0 and p < ``tau_p`` and H1 < the ``tau_h`` quantile of the batch; 1 at every other token."""
    tokens = batch.statistics
    certain = tokens.h1 < quantile_of(tokens.h1[batch.mask].double(), tau_h)
    spurious = (batch.advantages.unsqueeze(-1) > 0) & (tokens.logprob.exp() < tau_p) & certain
    return batch.mask & ~spurious
