"""What the family of a claim makes of its p value."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ict_core.evidence._claims import Claim
from ict_core.evidence._decide import Outcome
from ict_core.statistics import ALPHA, holm_of_distinct


class Correction(NamedTuple):
    """What a claim's family makes of its p."""

    p: float  # corrected
    alpha: float  # below which the uncorrected p is surely small enough
    same: str | None  # the claim that tests the same runs and is counted in its place


def corrected(tested: Sequence[tuple[Claim, Outcome]]) -> dict[str, Correction]:
    """The corrections by the claims' ids: the chance of any wrong finding in a family is at most 5 %.

    Of a family's claims those without `after` are corrected by Holm's procedure, those that test the same runs counted
    once. One `after` another has the larger of both p (a fixed sequence; Maurer, Hothorn and Lehmacher 1995); where the
    other was not tested, it is passed over.
    """
    corrections: dict[str, Correction] = {}
    families: dict[str, list[tuple[Claim, Outcome]]] = {}
    for claim, result in tested:
        families.setdefault(claim.family, []).append((claim, result))
    for members in families.values():
        outright = [(claim, result) for claim, result in members if claim.after is None]
        keys = [_key(claim, result) for claim, result in outright]
        first: dict[str, str] = {}  # by all that a test gave, the claim that counts
        adjusted = holm_of_distinct([result.p for _, result in outright], keys)
        for (claim, _), key, p in zip(outright, keys, adjusted.tolist(), strict=True):
            same = first.setdefault(key, claim.id)
            told = same if same != claim.id else None
            corrections[claim.id] = Correction(p, ALPHA / len(set(keys)), told)
        for claim, result in members:
            if claim.after is None:
                continue
            before = corrections.get(claim.after)
            gate = 0.0 if before is None else 1.0 if math.isnan(before.p) else before.p
            corrections[claim.id] = Correction(max(result.p, gate), ALPHA, None)  # NaN stays: it comes first
    return corrections


def _key(claim: Claim, result: Outcome) -> str:
    """The same of two claims whose tests are of the same runs; a test that could not be made is like no other."""
    return claim.id if math.isnan(result.p) else repr(replace(result, p_equivalence=math.nan))
