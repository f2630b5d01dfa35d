"""Clip-Cov: some tokens of high covariance of ln p and A are left out (arXiv:2505.22617; verl)."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch


def clip_cov(batch: TokenBatch, generator: torch.Generator, *, share: float, low: float, high: float) -> Tensor:
    """M = 0 at max(1, floor(``share`` N)) tokens, drawn among those with ``low`` < cov < ``high``; 1 at all others.

    cov = (A - mean A) (ln p - mean ln p), the means over all N response tokens of the batch. If there are
    fewer candidates, all are left out. The policy is the one that sampled, so PPO has not clipped any token yet.
    """
    mask, logprob = batch.mask, batch.statistics.logprob.double()
    advantages = batch.advantages.double().unsqueeze(-1).expand_as(logprob)
    cov = (advantages - advantages[mask].mean()) * (logprob - logprob[mask].mean())
    candidates = ((cov > low) & (cov < high) & mask).flatten().nonzero().squeeze(1)
    number = max(1, int(share * int(mask.sum())))
    drawn = torch.randperm(len(candidates), generator=generator)[:number].to(mask.device)
    kept = mask.flatten().clone()
    kept[candidates[drawn]] = False
    return kept.view_as(mask)
