"""STARE: the most surprising tokens of right, and of wrong, answers weighed anew (arXiv:2606.19236; hp-luo/STARE)."""

from fractions import Fraction

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch, mean_entropy, top_fraction


def stare(
    batch: TokenBatch,
    generator: torch.Generator,
    *,
    fraction: Fraction,
    positive: float,
    negative: float,
    target_entropy: float | None,
) -> Tensor:
    """w = ``positive`` (``negative``) at the top ``fraction`` by -ln p of all tokens with A > 0 (< 0); 1 at others.

    Only while the batch's mean H1 is below ``target_entropy``, else w = 1; None: in any case. ``negative`` 1 is the
    paper's one-sided form O1, below 1 its form C2. Its weights are fixed here, without the adaptive schedule.
    """
    mask = batch.mask
    weights = torch.ones_like(batch.statistics.logprob)
    if target_entropy is None or mean_entropy(batch) < target_entropy:
        surprisal, whole = -batch.statistics.logprob, (1, mask.numel())
        for sign, factor in ((1, positive), (-1, negative)):
            among = mask & (batch.advantages.sign() == sign).unsqueeze(-1)
            chosen = top_fraction(surprisal.reshape(whole), among.reshape(whole), fraction).view_as(mask)
            weights = weights.masked_fill(chosen, factor)
    return weights * mask
