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

    The paper ranks all tokens of the batch. The authors' code ranks those of each prompt's group by delta / T_i, as it
    has already divided the advantages by the response length T_i, and drops ceil((1 - fraction) n) of n tokens. Among
    equal tokens, such as those with A = 0, the paper's form keeps the earlier ones and the code's form drops them.
    Tokens with A = 0 fill the share if the others are too few.
    """
    mask, tokens = batch.mask, batch.statistics
    delta = tokens.h1 * batch.advantages.abs().unsqueeze(-1)
    if form == "paper":
        return top_fraction(delta, mask, fraction, len(mask))
    scaled = delta / mask.sum(-1, keepdim=True).clamp(min=1)
    return mask & ~top_fraction(-scaled, mask, 1 - fraction, tokens.group_size)
