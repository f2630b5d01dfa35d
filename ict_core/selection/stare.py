"""STARE: other weights for the most surprising tokens of right and wrong answers (arXiv:2606.19236; hp-luo/STARE)."""

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

    While the batch's mean H1 is not below ``target_entropy``, w = 1; None: no such limit. ``negative`` 1 is the paper's
    one-sided form O1, below 1 its form C2. The weights are fixed here, without the paper's adaptive schedule.
    """
    mask = batch.mask
    weights = torch.ones_like(batch.statistics.logprob)
    if target_entropy is None or mean_entropy(batch) < target_entropy:
        for sign, factor in ((1, positive), (-1, negative)):
            signed = mask & (batch.advantages.sign() == sign).unsqueeze(-1)
            chosen = top_fraction(-batch.statistics.logprob, signed, fraction, len(mask))
            weights = weights.masked_fill(chosen, factor)
    return weights * mask
