"""The decision rules: from one value a run to an estimate, p values, their correction in a family, and a finding."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ict_core.evidence.claims import Claim, DifferenceTest, Measure
from ict_core.statistics.deciding import (
    BETTER,
    EQUIVALENT,
    NONE_SEEN,
    PREDICTED,
    WORSE,
    finding,
    holm_of_distinct,
    p_of_strata,
    two_one_sided,
)
from ict_core.statistics.intervals import LEVEL, Estimate, stratified_t
from ict_core.statistics.schemas import ALPHA

Samples = Sequence[NDArray[np.float64]]  # one value a run, of each model


@dataclass(frozen=True)
class Outcome:
    """What the runs say about a claim, before correction for the number of claims.

    All numbers are in the unit of the values; a limit or a p that does not exist is NaN. The defaults are those of a
    claim that was not tested, or about a quantity that not every run has.
    """

    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan  # of the hypothesis against which the finding stands
    finding: str = NONE_SEEN  # if p, corrected, is below `ALPHA`; of a range BETTER is above it, EQUIVALENT within
    predicted: str = EQUIVALENT  # the finding that the claim predicts
    p_equivalence: float = math.nan  # of a claimed difference: two one-sided tests for lying within the margin
    sd: float = math.nan  # of one run's value; the standard error is sd / sqrt(seeds) for `strata` models
    effect: float = math.nan  # the distance that a test would have to find, where the claim itself names none
    seeds: int = 0  # runs of each model, the fewest
    strata: int = 0  # models whose runs were put together
    searched: int = 1  # differences among which the largest was searched, for each of which p is corrected


def within(value: Estimate, low: float, high: float) -> tuple[float, str]:
    """The p value and the finding for which it speaks, of a value claimed to lie in [low, high].

    Inside, the larger of the two one-sided p values for lying inside; outside, the one-sided p for lying beyond the
    nearer limit. Whichever way the estimate falls, a wrong verdict has at most the level's chance.
    """
    mean, se = float(value.mean), float(value.se)
    if low <= mean <= high:
        return float(two_one_sided(mean, se, value.df, low, high)), EQUIVALENT
    beyond = mean - high if mean > high else low - mean
    return float(stats.t.sf(beyond / se, value.df)), BETTER if mean > high else WORSE


def outcome(test: DifferenceTest | Measure, values: Mapping[str, NDArray[np.float64]], margin: float) -> Outcome:
    """Apply a claim's decision rule to its values: the deciding test of a mean of 0, or t-tests of a range.

    `values` has one value a run, shape (seeds,), of at least one model; within `margin` a difference counts as none.
    """
    strata = list(values.values())
    if isinstance(test, DifferenceTest) and test.every_model:
        return _weakest(test, strata, margin)
    value = stratified_t(strata) if isinstance(test, Measure) else stratified_t(strata).of_difference()
    if isinstance(test, Measure) and test.within is not None:
        result = _in_range(value, strata, test.within, margin)
        return replace(result, effect=min(abs(result.estimate - limit) for limit in test.within))
    if test.direction == "equal":
        return _in_range(value, strata, (-margin, margin), margin)
    result = _against_zero(value, strata, PREDICTED[str(test.direction)], margin)
    if isinstance(test, DifferenceTest):
        return replace(result, p_equivalence=_equivalence(value, margin))
    return replace(result, effect=abs(result.estimate))


def _outcome(value: Estimate, strata: Samples, p: float, finding: str, predicted: str, effect: float) -> Outcome:
    seeds = min(map(len, strata))
    mean, low, high, sd = (float(x) for x in (value.mean, value.low, value.high, value.se * math.sqrt(seeds)))
    return Outcome(mean, low, high, p, finding, predicted, math.nan, sd, effect, seeds, len(strata))


def _in_range(value: Estimate, strata: Samples, limits: tuple[float, float], effect: float) -> Outcome:
    p, finding = within(value, *limits)
    return _outcome(value, strata, p, finding, EQUIVALENT, effect)


def _against_zero(value: Estimate, strata: Samples, predicted: str, effect: float) -> Outcome:
    finding = BETTER if value.mean > 0 else WORSE
    return _outcome(value, strata, p_of_strata(strata, float(value.p)), finding, predicted, effect)


def _equivalence(value: Estimate, margin: float) -> float:
    p, finding = within(value, -margin, margin)
    return p if finding == EQUIVALENT else math.nan


def _weakest(test: DifferenceTest, strata: Samples, margin: float) -> Outcome:
    """A claim about every model: its weakest model decides.

    It is supported where each model shows it (the largest p; no correction is needed for that), and contradicted where
    one model shows the contrary (its p times the number of models).
    """
    sign, count = (1 if test.direction == "higher" else -1), len(strata)
    values = [stratified_t([runs]).of_difference() for runs in strata]
    each = [_against_zero(v, [s], PREDICTED[test.direction], margin) for v, s in zip(values, strata, strict=True)]
    index = min(range(count), key=lambda i: sign * each[i].estimate)
    weakest = each[index]
    p = np.array([result.p for result in each])
    decisive = p.max() if weakest.finding == weakest.predicted else np.minimum(1.0, count * p[index])  # NaN stays NaN
    equivalence = np.minimum(1.0, count * _equivalence(values[index], margin))
    return replace(weakest, p=float(decisive), p_equivalence=float(equivalence))


def largest(gains: Mapping[tuple[str, str, str], NDArray[np.float64]], margin: float) -> tuple[Outcome, str]:
    """The largest mean gain of those searched, with an interval and a p corrected for the search (Bonferroni).

    And where it is: "model, benchmark, over baseline".
    """
    count = len(gains)
    model, baseline, benchmark = key = max(gains, key=lambda k: float(gains[k].mean()))
    value = stratified_t([gains[key]], level=1 - (1 - LEVEL) / count).of_difference()
    result = _against_zero(value, [gains[key]], BETTER, margin)
    p = float(np.minimum(1.0, count * result.p))
    return replace(result, p=p, searched=count), f"{model}, {benchmark}, over {baseline}"


def found(result: Outcome, p_adjusted: float, p_equivalence_adjusted: float) -> str:
    """What was found, given the p values corrected within the claim's family."""
    return str(finding(result.finding, result.p, p_adjusted, p_equivalence_adjusted))


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
