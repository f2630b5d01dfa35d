"""The tokens with the highest score: ICT (arXiv:2606.19771), its ablations, and as many tokens drawn at random."""

from fractions import Fraction
from typing import Literal

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch, top_fraction


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
    tau = 1..T}, k)], has other readings, one each of ``padded``, ``ties`` and ``percentile``.

    Args:
        score: what :meth:`TokenStatistics.score` knows, or ``random``: a number drawn for each token.
        scope: the tokens among which one is compared: of its rollout, of its rollout and the padding to the longest of
            the batch, whose score is 0 and which come last, of its group, or of the whole batch.
        threshold: None: exactly ceil(fraction n) of n tokens; else those at or above :func:`_edge`.
    """
    mask = batch.mask
    if score == "random":
        values = torch.rand(mask.shape, generator=generator, dtype=torch.float64).to(mask.device)
    else:
        values = batch.statistics.score(score)
    rollouts = {"sequence": 1, "padded": 1, "group": batch.statistics.group_size, "batch": len(mask)}[scope]
    compared = (-1, rollouts * mask.size(1))
    among = torch.ones_like(mask) if scope == "padded" else mask
    values, among = (values * mask).reshape(compared), among.reshape(compared)
    if threshold is None:
        top = top_fraction(values, among, fraction)
    else:
        top = values >= _edge(values.double(), among, fraction, threshold)
    top = top.view_as(mask) & mask
    return top if keep == "top" else mask & ~top


def _edge(values: Tensor, among: Tensor, fraction: Fraction, threshold: Literal["ties", "percentile"]) -> Tensor:
    """The lowest kept score of each row, (R, 1), float64; of a row without a token no number.

    ``ties``: the ceil(fraction n)-th highest of the row's n scores, so that all equal to it are kept. ``percentile``:
    their 100 fraction-th percentile, linear between neighbours (numpy's), above which the rest of them lie: the formula
    by its letter.
    """
    last = among.sum(-1, keepdim=True) - 1
    ordered = values.masked_fill(~among, torch.inf).sort(-1).values
    part: Tensor | float = 0.0
    if threshold == "ties":
        place = last + 1 + -(last + 1) * fraction.numerator // fraction.denominator
    else:
        scaled = last * fraction.numerator
        place = scaled // fraction.denominator
        part = (scaled % fraction.denominator).double() / fraction.denominator
    at = place.clamp(min=0)
    lower, upper = ordered.gather(-1, at), ordered.gather(-1, (at + 1).minimum(last).clamp(min=0))
    return lower + (upper - lower) * part
