"""The decision rules: from one value a run to an estimate, a p value and a verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ict_core.evidence.claims import Difference, Measure
from ict_core.statistics.equivalence import two_one_sided
from ict_core.statistics.intervals import LEVEL, Estimate
from ict_core.statistics.stratified import stratified_t

SUPPORTED, CONTRADICTED = "supported", "contradicted"
NOT_RESOLVED, NOT_TESTED = "not resolved", "not tested in this study"
ALPHA = 0.05


@dataclass(frozen=True)
class Outcome:
    """What the runs say about a claim, before correction for the number of claims.

    Attributes:
        estimate, low, high: in the unit of the values; the limits are NaN where there is no interval.
        p: of the hypothesis against which `toward` stands; NaN where there is no test.
        toward: the verdict if p, corrected, is below 0.05.
        p_equivalence: of a claimed difference: two one-sided tests for lying within the margin; else NaN.
        sd: of one run's value; the standard error is sd / sqrt(seeds) for `strata` models.
        effect: the distance that a test would have to find, where the claim itself names none.
        seeds: runs of each model, the fewest.
        strata: models whose runs were put together.
        searched: differences among which the largest was searched, for each of which p is corrected.
    """

    estimate: float
    low: float
    high: float
    p: float
    toward: str
    p_equivalence: float
    sd: float
    effect: float
    seeds: int
    strata: int
    searched: int = 1


def within(found: Estimate, low: float, high: float) -> tuple[float, str]:
    """The p value and the verdict it would give, of a value claimed to lie in [low, high].

    Inside, the larger of the two one-sided p values for lying inside; outside, the one-sided p for lying beyond the
    nearer limit. Whichever way the estimate falls, a wrong verdict has at most the level's chance.
    """
    mean, se = float(found.mean), float(found.se)
    if low <= mean <= high:
        return float(two_one_sided(mean, se, found.df, low, high)), SUPPORTED
    beyond = mean - high if mean > high else low - mean
    return float(stats.t.sf(beyond / se, found.df)), CONTRADICTED


def outcome(test: Difference | Measure, values: Mapping[str, NDArray[np.float64]], margin: float) -> Outcome:
    """Apply a claim's decision rule to its values.

    Args:
        test: a difference or a measure.
        values: model -> one value a run, shape (seeds,); at least one model.
        margin: within it a difference counts as none; a share.
    """
    if isinstance(test, Difference) and test.every_model:
        return _weakest(test, list(values.values()), margin)
    found = stratified_t(list(values.values()))
    mean, seeds = float(found.mean), min(map(len, values.values()))
    equivalence, effect = math.nan, margin
    if isinstance(test, Measure) and test.within is not None:
        p, toward = within(found, *test.within)
        effect = min(abs(mean - limit) for limit in test.within)
    elif test.direction == "equal":
        p, toward = within(found, -margin, margin)
    else:
        right = (mean > 0) == (test.direction == "higher")
        p, toward = float(found.p), SUPPORTED if right else CONTRADICTED
        if isinstance(test, Difference):
            equivalence = _equivalence(found, margin)
        else:
            effect = abs(mean)
    return _outcome(found, p, toward, equivalence, effect, seeds, len(values))


def _outcome(
    found: Estimate, p: float, toward: str, p_equivalence: float, effect: float, seeds: int, strata: int = 1
) -> Outcome:
    mean, low, high, sd = (float(x) for x in (found.mean, found.low, found.high, found.se * math.sqrt(seeds)))
    return Outcome(mean, low, high, p, toward, p_equivalence, sd, effect, seeds, strata)


def _equivalence(found: Estimate, margin: float) -> float:
    p, toward = within(found, -margin, margin)
    return p if toward == SUPPORTED else math.nan


def _weakest(test: Difference, models: Sequence[NDArray[np.float64]], margin: float) -> Outcome:
    """A claim about every model: its weakest model decides.

    It is supported where each model shows it (the largest p; no correction is needed for that), and contradicted where
    one model shows the contrary (its p times the number of models).
    """
    sign = 1 if test.direction == "higher" else -1
    each = [stratified_t([values]) for values in models]
    index = min(range(len(each)), key=lambda i: sign * float(each[i].mean))
    weakest = each[index]
    right = sign * weakest.mean > 0
    p = np.max([found.p for found in each]) if right else np.minimum(1.0, len(each) * weakest.p)  # NaN stays NaN
    equivalence = float(np.minimum(1.0, len(each) * _equivalence(weakest, margin)))
    toward = SUPPORTED if right else CONTRADICTED
    return _outcome(weakest, float(p), toward, equivalence, margin, len(models[index]))


def largest(gains: Mapping[tuple[str, str, str], NDArray[np.float64]], margin: float) -> tuple[Outcome, str]:
    """The largest mean gain of those searched, with an interval and a p corrected for the search (Bonferroni).

    Returns:
        The outcome, and where the largest gain is: "model, benchmark, over baseline".
    """
    count = len(gains)
    key = max(gains, key=lambda k: float(gains[k].mean()))
    found = stratified_t([gains[key]], level=1 - (1 - LEVEL) / count)
    p = float(np.minimum(1.0, count * found.p))
    toward = SUPPORTED if found.mean > 0 else CONTRADICTED
    model, baseline, benchmark = key
    place = f"{model}, {benchmark}, over {baseline}"
    return replace(_outcome(found, p, toward, math.nan, margin, len(gains[key])), searched=count), place


def no_value(seeds: int, strata: int) -> Outcome:
    """The outcome of a claim about a quantity that not every run has."""
    nan = math.nan
    return Outcome(nan, nan, nan, nan, NOT_RESOLVED, nan, nan, nan, seeds, strata)


def verdict(result: Outcome, p_adjusted: float) -> str:
    """The verdict, given the p value corrected for the number of claims."""
    if p_adjusted < ALPHA:
        return result.toward
    if result.p_equivalence < ALPHA:
        return CONTRADICTED
    return NOT_RESOLVED
