"""Lopti: improbable tokens first, the others in a second update (arXiv:2505.12929; zhyang2226/AR-Lopti)."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch


def lopti(batch: TokenBatch, generator: torch.Generator, *, eta: float) -> Tensor:
    """M = 1 where p < ``eta`` in the first, third, ... update on a batch, where p >= ``eta`` in the others.

    In both, p is the probability under the policy that sampled.
    """
    improbable = batch.statistics.logprob.exp() < eta
    return batch.mask & (improbable if batch.update % 2 == 0 else ~improbable)
