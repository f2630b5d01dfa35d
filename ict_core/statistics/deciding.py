"""The deciding test, its corrections for many tests, the names of its findings, and its power.

Below :data:`SIGN_FLIP_FROM` seeds Student's t-test over the paired differences decides, from there on the sign-flip
test. This holds for contrasts and for the ledger's claims (docs/statistics.md, "Which test decides"). The verdict on a
difference says what was found. The verdict on a claim says whether that is what the claim predicts.

In the functions about power, `sd` is the standard deviation of one paired difference. Over `strata` independent models,
whose variance estimates are pooled, it is such that the standard error of the mean is sd / sqrt(seeds).
"""

from collections.abc import Hashable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from ict_core.errors import UserError
from ict_core.seeding import generator
from ict_core.statistics.intervals import Floats
from ict_core.statistics.schemas import ALPHA, ROUNDING, SIGN_FLIP_FROM

PAIRED_T, SIGN_FLIP = "paired t", "sign-flip"

BETTER, WORSE, EQUIVALENT = "better", "worse", "equivalent"  # findings
NOT_CONFIRMED = "not confirmed"  # no finding: p is below ALPHA before the correction only
NONE_SEEN = "none seen"  # no finding at all; `detectable` says what would have been found
NO_SPREAD, IDENTICAL, ONE_SEED = "no spread", "identical", "one seed"

SUPPORTED, CONTRADICTED = "supported", "contradicted"
NOT_RESOLVED, NOT_TESTED = "not resolved", "not tested in this study"
NOT_TESTABLE = "not testable here"  # a gate of the study's validity failed
PREDICTED = {"higher": BETTER, "lower": WORSE, "equal": EQUIVALENT}
"""The finding that a claim predicts, by the direction that it names."""


EXACT_PAIRS = 16  # up to this many pairs all sign flips are made: 65,536
DRAWN = 100_000  # random flips that are drawn for more pairs
_HELD = 2**22  # numbers in memory at once


def sign_flip_floor(pairs: int) -> float:
    """The smallest p that a sign-flip test of `pairs` pairs can give: 2 / 2^n, or 1 / (DRAWN + 1) with drawn flips."""
    return 2.0 / 2**pairs if pairs <= EXACT_PAIRS else 1 / (DRAWN + 1)


def sign_flip(differences: ArrayLike) -> Floats:
    """Two-sided sign-flip test of a mean of 0 (Fisher 1935): every paired difference could have had the other sign.

    It is exact for up to :data:`EXACT_PAIRS` pairs; p is then a multiple of 2 / 2^n. For more it uses :data:`DRAWN`
    random flips, which depend only on the number of pairs. It maps shape (..., pairs) to (...). p is 1 where all
    differences are 0. A ValueError if there is no value, or one that is not finite.

    `scipy.stats.permutation_test` makes the flips. It gets signs instead of values, so that one product gives the
    statistics of many samples at once. Its statistic is whether a mean is as extreme as the observed one, because its
    own tolerance for ties is relative, and zero where the observed statistic is 0.
    """
    array = np.asarray(differences, dtype=np.float64)
    if array.ndim == 0 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"a sign-flip test needs at least one finite value, not {differences!r}")
    *shape, pairs = array.shape
    if pairs == 1:  # the flipped value is as far from 0; scipy refuses a sample of one value
        return np.ones(shape)
    exact = pairs <= EXACT_PAIRS
    samples = array.reshape(-1, pairs)
    rounding = ROUNDING * np.maximum(1.0, np.abs(samples).max(axis=1))
    critical = np.abs(samples.mean(axis=1)) - rounding  # a mean this far from 0 is as extreme

    def as_extreme(signs: Floats, axis: int) -> NDArray[np.bool_]:
        return np.abs(signs @ samples.T) / pairs >= critical

    flipped = stats.permutation_test(
        (np.ones(pairs),),
        as_extreme,
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**EXACT_PAIRS if exact else DRAWN,  # scipy makes all flips if there are no more
        batch=max(1, _HELD // len(samples)),
        alternative="greater",
        rng=None if exact else generator(0, "sign-flips", pairs),
    )
    return np.asarray(flipped.pvalue).reshape(shape)


def deciding_test(seeds: ArrayLike) -> NDArray[np.str_]:
    """The name of the deciding test for each number of seeds, in the shape of `seeds`."""
    return np.where(np.asarray(seeds) >= SIGN_FLIP_FROM, SIGN_FLIP, PAIRED_T)


def _can_find(seeds: int, alpha: float, strata: int) -> bool:
    """Whether the deciding test with so many seeds in each stratum can give a p of `alpha` or less at all."""
    return bool(deciding_test(seeds) == PAIRED_T) or sign_flip_floor(strata * seeds) <= alpha


def p_of_strata(strata: Sequence[Floats], p_t: float) -> float:
    """The p of the deciding test of a mean of 0 over strata (models) of equal weight; each sign flips independently.

    `strata` has the differences of each stratum, shape (seeds of the stratum,). `p_t` is the p of `stratified_t`.
    """
    if deciding_test(min(map(len, strata))) == PAIRED_T:
        return p_t
    runs = sum(map(len, strata))
    weighted = [values * (runs / (len(strata) * len(values))) for values in strata]  # so that strata weigh the same
    return float(sign_flip(np.concatenate(weighted)))


def two_one_sided(estimate: ArrayLike, se: ArrayLike, df: ArrayLike, low: float, high: float) -> Floats:
    """The larger p of two one-sided t-tests: that a mean is not above `low`, and not below `high` (Schuirmann 1987).

    A small p shows that the mean, which is `estimate` with its standard error and degrees of freedom, shape (...), is
    within the limits, which are in its unit: the methods are then equivalent. NaN where `se` is NaN. A UserError if
    `low` is not below `high`.
    """
    if not low < high:
        raise UserError(f"equivalence limits {low} to {high}: the lower must lie below the upper")
    mean, error, free = (np.asarray(a, dtype=np.float64) for a in (estimate, se, df))
    above_low, below_high = stats.t.sf((mean - low) / error, free), stats.t.cdf((mean - high) / error, free)
    return np.asarray(np.maximum(above_low, below_high))


def holm(p: ArrayLike) -> Floats:
    """Holm's (1979) step-down adjusted p values, which bound the chance of any false rejection in the family.

    `p` has the whole family, shape (tests,). A test that could not be made (NaN) stays NaN but counts as p = 1, so that
    it does not make the others easier: the family was declared before the data. statsmodels' `multipletests` gives the
    same, but runs the garbage collector at every call.
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw)  # NaN is last
    steps = np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def holm_of_distinct(p: Sequence[float] | Floats, tests: Sequence[Hashable]) -> Floats:
    """:func:`holm`, shape (tests,), with equal `tests` (such as those of arms with the same runs) counted once."""
    distinct = dict(zip(tests, p, strict=True))
    adjusted = dict(zip(distinct, holm(list(distinct.values())), strict=True))
    return np.array([adjusted[test] for test in tests])


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Benjamini and Hochberg's (1995) step-up adjusted p values, which bound the expected share of false rejections.

    The bound holds for tests that are independent or positively dependent. NaN is treated as in :func:`holm`.
    """
    raw = np.asarray(p, dtype=np.float64)
    absent = np.isnan(raw)
    return np.where(absent, np.nan, stats.false_discovery_control(np.where(absent, 1.0, raw)))


def finding(
    toward: ArrayLike, p: ArrayLike, p_adjusted: ArrayLike, p_equivalence_adjusted: ArrayLike
) -> NDArray[np.str_]:
    """The findings of tests: `toward`, else :data:`EQUIVALENT`, else :data:`NOT_CONFIRMED` or :data:`NONE_SEEN`.

    `toward`, such as :data:`BETTER`, is what the deciding test shows if its p is small after the correction within its
    family. `p_equivalence_adjusted` is the p of :func:`two_one_sided` for the margin, corrected in the same way. NaN
    means that there is no test. Shapes broadcast.
    """
    nothing = np.where(np.less(p, ALPHA), NOT_CONFIRMED, NONE_SEEN)
    equivalent = np.where(np.less(p_equivalence_adjusted, ALPHA), EQUIVALENT, nothing)
    return np.where(np.less(p_adjusted, ALPHA), toward, equivalent)


def claim_verdict(predicted: str, found: str) -> str:
    """The verdict on a claim, given the finding that it predicts and the finding that was made."""
    if found == predicted:
        return SUPPORTED
    return CONTRADICTED if found in (BETTER, WORSE, EQUIVALENT) else NOT_RESOLVED


MOST_SEEDS = 10_000  # a study that needs more seeds than this is out of reach: reported as infinity


def _check(wanted: float, alpha: float) -> None:
    """A UserError unless the power, which a study chooses, lies between `alpha` and 1."""
    if not alpha < wanted < 1:
        raise UserError(f"power {wanted}: must lie between alpha, {alpha:g}, and 1")


def _power(noncentrality: ArrayLike, df: ArrayLike, alpha: float) -> Floats:
    """The power from the noncentrality. Scipy gives NaN for the wrong-sided tail where it is nearly 0."""
    shift, free = np.broadcast_arrays(np.asarray(noncentrality, np.float64), np.asarray(df, np.float64))
    critical = special.stdtrit(free, 1 - alpha / 2)
    wrong_side = stats.nct.cdf(-critical, free, shift)
    return np.asarray(stats.nct.sf(critical, free, shift) + np.where(np.isnan(wrong_side) & (shift > 4), 0, wrong_side))


def power(effect: ArrayLike, sd: ArrayLike, seeds: ArrayLike, alpha: float = ALPHA, strata: int = 1) -> Floats:
    """The chance that a two-sided paired t-test finds a true mean difference.

    It uses the noncentral t distribution with noncentrality |effect| / (sd / sqrt(seeds)) and strata * (seeds - 1)
    degrees of freedom (Cohen 1988, chapter 2); `statsmodels.stats.power.TTestPower` has no strata, and NaN for large
    effects. `effect` and `sd` are in the values' unit; `seeds`, of each stratum, is 2 or more. Shapes broadcast. NaN
    where `sd` is NaN or 0.
    """
    pairs, spread = np.asarray(seeds, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    ratio = np.abs(np.asarray(effect, dtype=np.float64)) / np.where(spread > 0, spread, np.nan)
    return _power(ratio * np.sqrt(pairs), strata * (pairs - 1), alpha)


@lru_cache(maxsize=1024)
def _detectable_noncentrality(df: float, wanted: float, alpha: float) -> float:
    """The noncentrality at which the two-sided test has the power `wanted`."""

    def excess(noncentrality: float) -> float:
        return float(_power(noncentrality, df, alpha)) - wanted

    high = 1.0
    while excess(high) < 0:
        high *= 2
    return float(optimize.brentq(excess, 0.0, high, xtol=1e-12, rtol=1e-12))


def detectable(sd: ArrayLike, seeds: int, wanted: float, alpha: float = ALPHA, strata: int = 1) -> Floats:
    """The smallest true mean difference that the paired t-test finds with the power `wanted`.

    It has the shape and unit of `sd`. It is infinite where the sign-flip test decides and has too few flips for
    `alpha`, and NaN where `sd` is NaN or 0, or with fewer than 2 seeds. A UserError if the power is out of range.
    """
    _check(wanted, alpha)
    spread = np.asarray(sd, dtype=np.float64)
    if seeds < 2:
        return np.full(spread.shape, np.nan)
    found = _can_find(seeds, alpha, strata)
    noncentrality = _detectable_noncentrality(strata * (seeds - 1), wanted, alpha) if found else np.inf
    return np.asarray(np.where(spread > 0, spread, np.nan) * noncentrality / np.sqrt(seeds))


def seeds_needed(effect: ArrayLike, sd: ArrayLike, wanted: float, alpha: float = ALPHA, strata: int = 1) -> Floats:
    """The smallest number of seeds, from 2, at which the paired t-test finds a difference with the power `wanted`.

    Where the sign-flip test decides, it is at least the number whose flips suffice for `alpha`. It is infinite above
    :data:`MOST_SEEDS`, and NaN where `sd` is NaN or 0. Shapes broadcast. Errors as in :func:`detectable`.
    """
    _check(wanted, alpha)
    size, spread = np.broadcast_arrays(np.abs(np.asarray(effect, np.float64)), np.asarray(sd, np.float64))
    unknown = ~(spread > 0)
    enough, few = np.full(size.shape, MOST_SEEDS + 1), np.full(size.shape, 1)  # enough always has the power, few never
    while (enough - few > 1).any():
        middle = np.maximum((enough + few) // 2, 2)
        found = power(size, spread, middle, alpha, strata) >= wanted
        enough, few = np.where(found, middle, enough), np.where(found, few, np.minimum(middle, enough - 1))
    numbers = range(SIGN_FLIP_FROM, EXACT_PAIRS + 2)  # more pairs do not lower the floor
    flips = next((number for number in numbers if _can_find(number, alpha, strata)), MOST_SEEDS + 1)
    enough = np.where((enough >= SIGN_FLIP_FROM) & (enough < flips), flips, enough)
    return np.asarray(np.where(unknown, np.nan, np.where(enough > MOST_SEEDS, np.inf, enough)))
