"""The tokens with the highest score: ICT (arXiv:2606.19771), its ablations, and as many tokens drawn at random."""

from fractions import Fraction
from typing import Literal

import torch
from torch import Tensor

from ict_core.selection._base import TokenBatch, register, top_fraction


@register("top-score")
def top_score(
    batch: TokenBatch,
    generator: torch.Generator,
    *,
    score: str,
    scope: Literal["sequence", "group", "batch"],
    fraction: Fraction,
    keep: Literal["top", "rest"],
) -> Tensor:
    """M = 1 where the score is among the top ``fraction`` of its scope, or with ``keep`` rest where it is not.

    ICT is the score ``js`` (u = JS(p, P_avg)) with the sequence as its scope.

    Args:
        score: what :meth:`TokenStatistics.score` knows, or ``random``: a number drawn for each token.
        scope: the tokens among which one is compared: of its rollout, of its group, or of the whole batch.
    """
    mask = batch.mask
    if score == "random":
        values = torch.rand(mask.shape, generator=generator, dtype=torch.float64).to(mask.device)
    else:
        values = batch.statistics.score(score)
    rollouts = {"sequence": 1, "group": batch.statistics.group_size, "batch": len(mask)}[scope]
    compared = (-1, rollouts * mask.size(1))
    top = top_fraction(values.reshape(compared), mask.reshape(compared), fraction).view_as(mask)
    return top if keep == "top" else mask & ~top
