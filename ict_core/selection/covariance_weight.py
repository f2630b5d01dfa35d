"""CW-GRPO: tokens of extreme covariance of ln p and A count less (arXiv:2605.11538; its code is not public)."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch


def covariance_weight(batch: TokenBatch, generator: torch.Generator) -> Tensor:
    """w = exp(-c^2 / (2 sigma^2)) / mean, with c = (ln p - mean ln p) (A - mean A) and its standard deviation sigma.

    All means and sigma (with n, not n - 1) are over the response tokens of the batch; w = 1 where all c are equal.
    """
    mask, logprob = batch.mask, batch.statistics.logprob.double()
    advantages = batch.advantages.double().unsqueeze(-1).expand_as(logprob)
    c = (logprob - logprob[mask].mean()) * (advantages - advantages[mask].mean())
    variance = c[mask].var(correction=0)
    weights = torch.exp(-c.square() / (2 * variance)) if variance > 0 else torch.ones_like(c)
    return (weights / weights[mask].mean()).float() * mask
