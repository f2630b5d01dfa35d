"""The decision rules: from one value a run to an estimate, a p value and a verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ict_core.evidence.claims import Difference, Measure
from ict_core.statistics.deciding import (
    BETTER,
    EQUIVALENT,
    PREDICTED,
    UNDERPOWERED,
    WORSE,
    claim_verdict,
    finding,
    p_of_strata,
    two_one_sided,
)
from ict_core.statistics.intervals import LEVEL, Estimate, stratified_t


@dataclass(frozen=True)
class Outcome:
    """What the runs say about a claim, before correction for the number of claims.

    Attributes:
        estimate, low, high: in the unit of the values; the limits are NaN where there is no interval.
        p: of the hypothesis against which `found` stands; NaN where there is no test.
        found: the finding if p, corrected, is below 0.05; of a range BETTER is above it, EQUIVALENT within.
        predicted: the finding that the claim predicts.
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
    found: str
    predicted: str
    p_equivalence: float
    sd: float
    effect: float
    seeds: int
    strata: int
    searched: int = 1

    @property
    def toward(self) -> str:
        """The claim's verdict if p, corrected, is below 0.05."""
        return claim_verdict(self.predicted, self.found)


def within(value: Estimate, low: float, high: float) -> tuple[float, str]:
    """The p value and what it would find, of a value claimed to lie in [low, high].

    Inside, the larger of the two one-sided p values for lying inside; outside, the one-sided p for lying beyond the
    nearer limit. Whichever way the estimate falls, a wrong verdict has at most the level's chance.
    """
    mean, se = float(value.mean), float(value.se)
    if low <= mean <= high:
        return float(two_one_sided(mean, se, value.df, low, high)), EQUIVALENT
    beyond = mean - high if mean > high else low - mean
    return float(stats.t.sf(beyond / se, value.df)), BETTER if mean > high else WORSE


def outcome(test: Difference | Measure, values: Mapping[str, NDArray[np.float64]], margin: float) -> Outcome:
    """Apply a claim's decision rule to its values: the deciding test of a mean of 0, or t-tests of a range.

    Args:
        test: a difference or a measure.
        values: model -> one value a run, shape (seeds,); at least one model.
        margin: within it a difference counts as none; a share.
    """
    strata = list(values.values())
    if isinstance(test, Difference) and test.every_model:
        return _weakest(test, strata, margin)
    if isinstance(test, Measure) and test.within is not None:
        result = _in_range(strata, test.within, margin)
        return replace(result, effect=min(abs(result.estimate - limit) for limit in test.within))
    if test.direction == "equal":
        return _in_range(strata, (-margin, margin), margin)
    value = stratified_t(strata)
    result = _outcome(value, strata, _p(strata, value), _sign(value), PREDICTED[str(test.direction)], margin)
    if isinstance(test, Difference):
        return replace(result, p_equivalence=_equivalence(value, margin))
    return replace(result, effect=abs(result.estimate))


def _outcome(
    value: Estimate, strata: Sequence[NDArray[np.float64]], p: float, found: str, predicted: str, effect: float
) -> Outcome:
    seeds = min(map(len, strata))
    mean, low, high, sd = (float(x) for x in (value.mean, value.low, value.high, value.se * math.sqrt(seeds)))
    return Outcome(mean, low, high, p, found, predicted, math.nan, sd, effect, seeds, len(strata))


def _in_range(strata: Sequence[NDArray[np.float64]], limits: tuple[float, float], effect: float) -> Outcome:
    value = stratified_t(strata)
    p, found = within(value, *limits)
    return _outcome(value, strata, p, found, EQUIVALENT, effect)


def _p(strata: Sequence[NDArray[np.float64]], value: Estimate) -> float:
    return p_of_strata(strata, float(value.p))


def _sign(value: Estimate) -> str:
    return BETTER if value.mean > 0 else WORSE


def _equivalence(value: Estimate, margin: float) -> float:
    p, found = within(value, -margin, margin)
    return p if found == EQUIVALENT else math.nan


def _weakest(test: Difference, models: Sequence[NDArray[np.float64]], margin: float) -> Outcome:
    """A claim about every model: its weakest model decides.

    It is supported where each model shows it (the largest p; no correction is needed for that), and contradicted where
    one model shows the contrary (its p times the number of models).
    """
    sign = 1 if test.direction == "higher" else -1
    each = [stratified_t([values]) for values in models]
    index = min(range(len(each)), key=lambda i: sign * float(each[i].mean))
    p = np.array([_p([values], value) for values, value in zip(models, each, strict=True)])
    predicted, found = PREDICTED[test.direction], _sign(each[index])
    decisive = p.max() if found == predicted else np.minimum(1.0, len(each) * p[index])  # NaN stays NaN
    equivalence = float(np.minimum(1.0, len(each) * _equivalence(each[index], margin)))
    result = _outcome(each[index], [models[index]], float(decisive), found, predicted, margin)
    return replace(result, p_equivalence=equivalence)


def largest(gains: Mapping[tuple[str, str, str], NDArray[np.float64]], margin: float) -> tuple[Outcome, str]:
    """The largest mean gain of those searched, with an interval and a p corrected for the search (Bonferroni).

    Returns:
        The outcome, and where the largest gain is: "model, benchmark, over baseline".
    """
    count = len(gains)
    key = max(gains, key=lambda k: float(gains[k].mean()))
    strata = [gains[key]]
    value = stratified_t(strata, level=1 - (1 - LEVEL) / count)
    p = float(np.minimum(1.0, count * _p(strata, value)))
    model, baseline, benchmark = key
    result = _outcome(value, strata, p, _sign(value), BETTER, margin)
    return replace(result, searched=count), f"{model}, {benchmark}, over {baseline}"


def no_value(seeds: int, strata: int) -> Outcome:
    """The outcome of a claim about a quantity that not every run has."""
    nan = math.nan
    return Outcome(nan, nan, nan, nan, UNDERPOWERED, EQUIVALENT, nan, nan, nan, seeds, strata)


def verdict(result: Outcome, p_adjusted: float) -> str:
    """The verdict, given the p value corrected for the number of claims."""
    return claim_verdict(result.predicted, str(finding(result.found, p_adjusted, result.p_equivalence)))
