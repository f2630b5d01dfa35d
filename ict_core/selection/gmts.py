"""GMTS: the tokens with the largest estimated gradients (arXiv:2608.30632; outongyiLv/GMTS)."""

from fractions import Fraction
from typing import Literal

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch, top_fraction


def gmts(
    batch: TokenBatch, generator: torch.Generator, *, fraction: Fraction, form: Literal["paper", "code"]
) -> Tensor:
    """M = 1 at the top ``fraction`` by delta = H1 |A|: |H1 omega| where the ratio is 1 and there is no KL term.

    The paper ranks all tokens of the batch. The authors' code ranks those of a prompt's group, by delta / T_i, as its
    advantages are divided by the response's length T_i by then, and drops ceil((1 - fraction) n) of n tokens. Of equal
    ones, all with A = 0 among them, the earlier are kept, by the code's form dropped; where fewer tokens have an
    A, such ones fill the share.
    """
    mask, tokens = batch.mask, batch.statistics
    delta = tokens.h1 * batch.advantages.abs().unsqueeze(-1)
    if form == "paper":
        whole = (1, mask.numel())
        return top_fraction(delta.reshape(whole), mask.reshape(whole), fraction).view_as(mask)
    by_group = (-1, tokens.group_size * mask.size(1))
    scaled = (delta / mask.sum(-1, keepdim=True).clamp(min=1)).reshape(by_group)
    of_group = mask.reshape(by_group)
    return (of_group & ~top_fraction(-scaled, of_group, 1 - fraction)).view_as(mask)
