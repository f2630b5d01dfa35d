"""PSR, NSR and W-REINFORCE: right and wrong answers weighted apart (arXiv:2506.01347; TianHongZXY/RLVR-Decomposed)."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch


def sign(batch: TokenBatch, generator: torch.Generator, *, positive: float, negative: float) -> Tensor:
    """w = ``positive`` where A > 0, ``negative`` where A < 0, and 1 where A = 0, where the policy gets no gradient.

    The authors use the reward R as the advantage (R of right answers, R - 1 of wrong ones). So groups of equal rewards
    count too, and every wrong answer counts as much as every right one. Here A is the group's, the same in all arms. A
    batch permutation and a mean over the batch do count the tokens with A = 0.
    """
    advantages = batch.advantages.unsqueeze(-1)
    weights = torch.where(advantages > 0, positive, torch.where(advantages < 0, negative, 1.0))
    return weights * batch.mask
