"""The decision rules: from one value per run to an estimate, p values, their correction in a family, and a finding."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from ict_core.evidence.claims import Claim, DifferenceTest, Measure
from ict_core.statistics.deciding import (
    BETTER,
    EQUIVALENT,
    NONE_SEEN,
    PREDICTED,
    WORSE,
    holm_of_distinct,
    p_of_strata,
    two_one_sided,
)
from ict_core.statistics.intervals import LEVEL, Estimate, Floats, stratified_t, with_shared
from ict_core.statistics.schemas import ALPHA


class Stratum(NamedTuple):
    """The runs of one model."""

    runs: Floats  # one value per run
    shared: float = 0.0  # variance of an error that all of them share


@dataclass(frozen=True)
class Outcome:
    """What the runs say about a claim, before correction for the number of claims.

    All numbers are in the unit of the values; a limit or a p that does not exist is NaN. The defaults are for a
    claim that was not tested, or one about a quantity that some run lacks.
    """

    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan  # of the hypothesis that the finding rejects
    finding: str = NONE_SEEN  # if the corrected p is below `ALPHA`; for a range BETTER is above it, EQUIVALENT within
    predicted: str = EQUIVALENT  # the finding that the claim predicts
    p_equivalence: float = math.nan  # for a claimed difference: two one-sided tests that it is within the margin
    sd: float = math.nan  # of one run's value; the standard error is sd / sqrt(seeds) for `strata` models
    effect: float = math.nan  # the effect that a test would have to find, unless the claim itself names one
    seeds: int = 0  # runs of the model with the fewest
    strata: int = 0  # models whose runs are combined
    searched: int = 1  # differences among which the largest was searched; p is corrected for their number


def within(value: Estimate, low: float, high: float) -> tuple[float, str]:
    """The p value of a value claimed to lie in [low, high], and the finding that a small p supports.

    If the estimate is inside, it is the larger of the two one-sided p values for lying inside. If it is outside, it is
    the one-sided p for lying beyond the nearer limit. Either way the chance of a wrong verdict is at most the level.
    """
    mean, se = float(value.mean), float(value.se)
    if low <= mean <= high:
        return float(two_one_sided(mean, se, value.df, low, high)), EQUIVALENT
    beyond = mean - high if mean > high else low - mean
    return float(stats.t.sf(beyond / se, value.df)), BETTER if mean > high else WORSE


def outcome(
    test: DifferenceTest | Measure,
    values: Mapping[str, Floats],
    margin: float,
    shared: Mapping[str, float] | None = None,
) -> Outcome:
    """Apply a claim's decision rule to its values: the deciding test of a mean of 0, or t-tests of a range.

    `values` has one value per run, shape (seeds,), of at least one model. A difference within `margin` counts as none.
    `shared` has the variance of an error that all runs of a model share, which no sign flip shows: t-tests decide then.
    """
    strata = [Stratum(runs, (shared or {}).get(model, 0.0)) for model, runs in values.items()]
    if isinstance(test, Measure):
        value = stratified_t([stratum.runs for stratum in strata])
        if test.within is not None:
            effect = min(abs(float(value.mean) - limit) for limit in test.within)
            return _outcome(value, strata, *within(value, *test.within), EQUIVALENT, effect)
        result = _against_zero(value, strata, PREDICTED[str(test.direction)], margin)
        return replace(result, effect=abs(result.estimate))
    if test.every_model:
        return _weakest(test, strata, margin)
    value = _difference(strata)
    p, finding = _equivalence(strata, margin)
    if test.direction == "equal":
        return _outcome(value, strata, p, finding, EQUIVALENT, margin)
    result = _against_zero(value, strata, PREDICTED[test.direction], margin)
    result = replace(result, p_equivalence=p if finding == EQUIVALENT else math.nan)
    if test.combine == "strongest":  # each model's strongest baseline was found on these runs
        choices = len(test.against) ** len(strata)
        p = result.p if result.finding == result.predicted else np.minimum(1.0, choices * result.p)
        result = replace(result, p=float(p), p_equivalence=float(np.minimum(1.0, choices * result.p_equivalence)))
    return result


def _difference(strata: Sequence[Stratum]) -> Estimate:
    """The mean difference over models of equal weight."""
    shared = sum(stratum.shared for stratum in strata) / len(strata) ** 2
    return with_shared(stratified_t([stratum.runs for stratum in strata]), shared).of_difference()


def _outcome(
    value: Estimate, strata: Sequence[Stratum], p: float, finding: str, predicted: str, effect: float
) -> Outcome:
    seeds = min(len(stratum.runs) for stratum in strata)
    mean, low, high, sd = (float(x) for x in (value.mean, value.low, value.high, value.se * math.sqrt(seeds)))
    return Outcome(mean, low, high, p, finding, predicted, math.nan, sd, effect, seeds, len(strata))


def _against_zero(value: Estimate, strata: Sequence[Stratum], predicted: str, effect: float) -> Outcome:
    p, finding = float(value.p), BETTER if value.mean > 0 else WORSE
    if not any(stratum.shared for stratum in strata):
        p = p_of_strata([stratum.runs for stratum in strata], p)
    return _outcome(value, strata, p, finding, predicted, effect)


def _equivalence(strata: Sequence[Stratum], margin: float) -> tuple[float, str]:
    """:func:`within` of the mean over models, for the margin on both sides of 0; each model has to lie within it."""
    p, finding = within(_difference(strata), -margin, margin)
    if finding == EQUIVALENT:
        each = [_difference([stratum]) for stratum in strata]
        p = float(np.max([two_one_sided(value.mean, value.se, value.df, -margin, margin) for value in each]))
    return p, finding


def _weakest(test: DifferenceTest, strata: Sequence[Stratum], margin: float) -> Outcome:
    """The outcome of a claim about every model, which its weakest model decides.

    It is supported if each model shows it (the largest p, which needs no correction), and contradicted if one model
    shows the contrary (its p times the number of models). The least precise model limits what could be found: the
    spread is of its standard error, and the seeds are the fewest.
    """
    sign, count = (1 if test.direction == "higher" else -1), len(strata)
    results = [_against_zero(_difference([s]), [s], PREDICTED[test.direction], margin) for s in strata]
    index = min(range(count), key=lambda i: sign * results[i].estimate)
    weakest = results[index]
    p = np.array([result.p for result in results])
    decisive = p.max() if weakest.finding == weakest.predicted else np.minimum(1.0, count * p[index])  # NaN stays NaN
    alike, finding = _equivalence([strata[index]], margin)
    equivalence = np.minimum(1.0, count * alike) if finding == EQUIVALENT else math.nan
    seeds = min(result.seeds for result in results)
    se = np.max([result.sd / math.sqrt(result.seeds) for result in results])  # NaN stays NaN
    sd = float(se) * math.sqrt(seeds)
    return replace(weakest, p=float(decisive), p_equivalence=float(equivalence), sd=sd, seeds=seeds)


def clearest(gains: Mapping[tuple[str, str, str], Floats], margin: float) -> tuple[Outcome, tuple[str, str, str]]:
    """The gain with the most evidence, and its key, which is of model, baseline and benchmark.

    The smallest p of a gain counts, times the number of those searched (Bonferroni), and its interval is as wide. If
    all are losses, the largest p of a loss counts, as each of them has to be one; this needs no correction.
    """
    count, results = len(gains), {}
    for key, runs in gains.items():
        value = stratified_t([runs], level=1 - (1 - LEVEL) / count).of_difference()
        results[key] = _against_zero(value, [Stratum(runs)], BETTER, margin)

    def evidence(searched: tuple[str, str, str]) -> tuple[float, float]:
        result = results[searched]
        p = 1.0 if math.isnan(result.p) else result.p
        return 1 - p if result.finding == BETTER else p - 1, result.estimate

    key = max(gains, key=evidence)
    result = results[key]
    p = float(np.minimum(1.0, count * result.p)) if result.finding == BETTER else result.p
    return replace(result, p=p, searched=count), key


class Correction(NamedTuple):
    """A claim's p values after the correction within its family."""

    p: float  # corrected
    p_equivalence: float  # corrected in the same way, among the tests of equivalence
    alpha: float  # an uncorrected p below this is certainly small enough
    same: str | None  # the claim that tests the same runs and counts instead, if any


def corrected(tested: Sequence[tuple[Claim, Outcome]]) -> dict[str, Correction]:
    """The corrections by claim id: a family's chance of a wrong difference is at most 5 %, as is that of equivalence.

    Holm's procedure corrects the claims of a family, and claims that test the same runs count once. In a family with
    `after` a claim has the largest of its own p and those of the tested claims before it (a fixed sequence; Maurer,
    Hothorn and Lehmacher 1995). The p of equivalence are corrected in the same way, separately. A claim without one,
    such as one about a quantity, counts there as a test that could not be made.
    """
    corrections: dict[str, Correction] = {}
    families: dict[str, list[tuple[Claim, Outcome]]] = {}
    for claim, result in tested:
        families.setdefault(claim.family, []).append((claim, result))
    for members in families.values():
        ids, results = [claim.id for claim, _ in members], [result for _, result in members]
        p, p_equivalence = [result.p for result in results], [result.p_equivalence for result in results]
        if any(claim.after is not None for claim, _ in members):
            p, p_equivalence, counted, alpha = _in_order(p), _in_order(p_equivalence), ids, ALPHA
        else:
            p, counted = _by_holm(ids, p, [replace(result, p_equivalence=math.nan) for result in results])
            p_equivalence, _ = _by_holm(ids, p_equivalence, results)
            alpha = ALPHA / len(set(counted))
        for name, same, one, other in zip(ids, counted, p, p_equivalence, strict=True):
            corrections[name] = Correction(one, other, alpha, same if same != name else None)
    return corrections


def _in_order(p: Sequence[float]) -> list[float]:
    """The p of tests of a fixed sequence; after one that could not be made (NaN) all are 1."""
    adjusted, before = [], 0.0
    for value in p:
        adjusted.append(max(value, before))  # NaN stays: it comes first
        before = 1.0 if math.isnan(value) else adjusted[-1]
    return adjusted


def _by_holm(ids: Sequence[str], p: Sequence[float], results: Sequence[Outcome]) -> tuple[list[float], list[str]]:
    """Holm's p of a family's claims, and for each the claim that counts for its test, mostly itself.

    `results` has outcomes that are equal for equal tests.
    """
    keys = [
        # a test that was not made, or of runs without any difference, is equal to no other
        name if math.isnan(value) or (result.estimate == 0 and result.p == 1) else repr(result)
        for name, value, result in zip(ids, p, results, strict=True)
    ]
    first: dict[str, str] = {}
    counted = [first.setdefault(key, name) for key, name in zip(keys, ids, strict=True)]
    return holm_of_distinct(p, keys).tolist(), counted
