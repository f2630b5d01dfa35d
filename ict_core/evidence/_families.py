"""What the family of a claim makes of its p values."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ict_core.evidence._claims import Claim
from ict_core.evidence._decide import Outcome
from ict_core.statistics import ALPHA, holm_of_distinct


class Correction(NamedTuple):
    """What a claim's family makes of its p values."""

    p: float  # corrected
    p_equivalence: float  # corrected likewise, among the tests of equivalence
    alpha: float  # below which the uncorrected p is surely small enough
    same: str | None  # the claim that tests the same runs and is counted in its place


def corrected(tested: Sequence[tuple[Claim, Outcome]]) -> dict[str, Correction]:
    """The corrections by the claims' ids: in a family at most 5 % find a wrong difference, and 5 % a wrong equivalence.

    Of a family's claims those without `after` are corrected by Holm's procedure, those that test the same runs counted
    once. One `after` another has the larger of both p (a fixed sequence; Maurer, Hothorn and Lehmacher 1995); where the
    other was not tested, it is passed over. The p of equivalence are corrected so apart from the others; a claim
    without one, as about a quantity, counts there as a test that could not be made.
    """
    corrections: dict[str, Correction] = {}
    families: dict[str, list[tuple[Claim, Outcome]]] = {}
    for claim, result in tested:
        families.setdefault(claim.family, []).append((claim, result))
    for members in families.values():
        of_runs = [(claim, result.p, replace(result, p_equivalence=math.nan)) for claim, result in members]
        p, counted = _in_family(of_runs)
        p_equivalence, _ = _in_family([(claim, result.p_equivalence, result) for claim, result in members])
        for name in p:
            same = counted.get(name, name)
            alpha = ALPHA / len(set(counted.values())) if name in counted else ALPHA
            corrections[name] = Correction(p[name], p_equivalence[name], alpha, same if same != name else None)
    return corrections


def _in_family(tests: Sequence[tuple[Claim, float, Outcome]]) -> tuple[dict[str, float], dict[str, str]]:
    """Of a family's claims, each with its p and what is the same of the same test: the corrected p, by their ids.

    And of each without `after` the claim that counts for its test, mostly itself.
    """
    outright = [(claim, p, result) for claim, p, result in tests if claim.after is None]
    keys = [claim.id if math.isnan(p) else repr(result) for claim, p, result in outright]  # what was not made is alone
    adjusted = holm_of_distinct([p for _, p, _ in outright], keys)
    found = {claim.id: p for (claim, _, _), p in zip(outright, adjusted.tolist(), strict=True)}
    first: dict[str, str] = {}
    counted = {claim.id: first.setdefault(key, claim.id) for (claim, _, _), key in zip(outright, keys, strict=True)}
    for claim, p, _ in tests:
        if claim.after is not None:
            before = found.get(claim.after)
            gate = 0.0 if before is None else 1.0 if math.isnan(before) else before
            found[claim.id] = max(p, gate)  # NaN stays: it comes first
    return found, counted
