"""The tokens with the highest score: ICT (arXiv:2606.19771), its ablations, and as many tokens drawn at random."""

from fractions import Fraction
from typing import Literal

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch, ceil_share, top_fraction


def top_score(
    batch: TokenBatch,
    generator: torch.Generator,
    *,
    score: str,
    scope: Literal["sequence", "padded", "group", "batch"],
    fraction: Fraction,
    keep: Literal["top", "rest"],
    threshold: Literal["ties", "percentile"] | None = None,
) -> Tensor:
    """M = 1 where the score is among the top ``fraction`` of its scope, or with ``keep`` rest where it is not.

    ICT is the score ``js`` (u = JS(p, P_avg)) with the sequence as its scope. Its formula, M = 1[u >= Percentile({u of
    tau = 1..T}, k)], can be read in other ways: ``padded``, ``ties`` and ``percentile`` are one each.

    Args:
        score: a name that :meth:`TokenStatistics.score` takes, or ``random``: a random number for each token.
        scope: the tokens that are ranked together: those of a rollout (``sequence``), of a rollout and its padding to
            the batch's longest one, which has score 0 and comes last (``padded``), of a group, or of the whole batch.
        threshold: None keeps exactly ceil(fraction n) of n tokens, else those at or above :func:`_edge` are kept.
    """
    mask = batch.mask
    if score == "random":
        values = torch.rand(mask.shape, generator=generator, dtype=torch.float64).to(mask.device)
    else:
        values = batch.statistics.score(score)
    rollouts = {"sequence": 1, "padded": 1, "group": batch.statistics.group_size, "batch": len(mask)}[scope]
    ranked = mask.any(0).expand_as(mask) if scope == "padded" else mask
    values = values * mask
    if threshold is None:
        top = top_fraction(values, ranked, fraction, rollouts)
    else:
        compared = (-1, rollouts * mask.size(1))
        values, ranked = values.reshape(compared), ranked.reshape(compared)
        top = (values >= _edge(values.double(), ranked, fraction, threshold)).view_as(mask)
    return mask & (top if keep == "top" else ~top)


def _edge(values: Tensor, among: Tensor, fraction: Fraction, threshold: Literal["ties", "percentile"]) -> Tensor:
    """The lowest kept score of each row, (R, 1), float64; NaN for a row without a token.

    ``ties``: the ceil(fraction n)-th highest of the row's n scores, so that all scores equal to it are kept.
    ``percentile``: the 100 fraction-th percentile of the scores, linear between neighbours (numpy's), as the formula
    literally says; the share 1 - fraction of the scores is above it.
    """
    last = among.sum(-1, keepdim=True) - 1
    ordered = values.masked_fill(~among, torch.inf).sort(-1).values
    part: Tensor | float = 0.0
    if threshold == "ties":
        place = last + 1 - ceil_share(last + 1, fraction)
    else:  # in whole numbers of Python, as `ceil_share`
        divided = [divmod(n * fraction.numerator, fraction.denominator) for n in last.flatten().tolist()]
        places, parts = zip(*((whole, rest / fraction.denominator) for whole, rest in divided), strict=True)
        place = torch.tensor(places, device=last.device).view_as(last)
        part = torch.tensor(parts, dtype=torch.float64, device=last.device).view_as(last)
    at = place.clamp(min=0)
    lower, upper = ordered.gather(-1, at), ordered.gather(-1, (at + 1).minimum(last).clamp(min=0))
    return lower + (upper - lower) * part
