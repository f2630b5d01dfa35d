"""UloRL's mask of well-mastered positive tokens (arXiv:2507.19766)."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch, mean_entropy


def mastered(batch: TokenBatch, generator: torch.Generator, *, tau: float, target_entropy: float | None) -> Tensor:
    """M = 0 where A > 0 and p >= ``tau``, while the batch's mean H1 is below ``target_entropy``; 1 at all others.

    With None, M = 0 there at any mean H1, as the paper's target is not public.
    """
    if target_entropy is not None and mean_entropy(batch) >= target_entropy:
        return batch.mask.clone()
    easy = (batch.advantages.unsqueeze(-1) > 0) & (batch.statistics.logprob.exp() >= tau)
    return batch.mask & ~easy
