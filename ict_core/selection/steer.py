"""STEER: tokens that would change the entropy most count less (arXiv:2510.10150; zz-haooo/STEER)."""

import math
from typing import Literal

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch

_LEAST_P = 1e-8  # the authors' value
_LEAST_LARGEST = 0.02


def steer(
    batch: TokenBatch,
    generator: torch.Generator,
    *,
    form: Literal["exponential", "linear"],
    lowest: float,
    highest: float,
) -> Tensor:
    """w falls with |Omega| = |A| (1 - p) |ln p + H1| from ``highest`` at the batch's smallest |Omega| to ``lowest``.

    Exponential: w = exp(-k |Omega|), k = -ln(``lowest``) / max(largest |Omega|, 0.02), between ``lowest`` and 1,
    without ``highest``. Linear: a line from the smallest |Omega| to the largest; halfway if all are equal. p is clamped
    to [1e-8, 1 - 1e-8] as in the authors' code. Omega there has A / p_old times p (1 - p); p_old is p here.
    """
    mask, tokens = batch.mask, batch.statistics
    p = tokens.logprob.double().exp().clamp(_LEAST_P, 1 - _LEAST_P)
    change = (batch.advantages.double().unsqueeze(-1) * (1 - p) * (p.log() + tokens.h1.double())).abs()
    smallest, largest = change[mask].min(), change[mask].max()
    if form == "exponential":
        rate = -math.log(lowest) / largest.clamp(min=_LEAST_LARGEST)
        weights = torch.exp(-rate * change).clamp(lowest, 1.0)
    elif largest > smallest:
        weights = (highest - (change - smallest) * (highest - lowest) / (largest - smallest)).clamp(lowest, highest)
    else:
        weights = torch.full_like(change, (lowest + highest) / 2)
    return weights.float() * mask
