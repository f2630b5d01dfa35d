"""The one test that decides, its corrections for many tests, the words for what it finds, and its power.

Below :data:`SIGN_FLIP_FROM` seeds Student's t over the paired differences decides, from there the sign-flip test, of
contrasts and of the ledger's claims alike (docs/statistics.md, "Which test decides"). A difference's verdict says what
was found; a claim's says whether that is what the claim predicts.

Of the power, `sd` is the standard deviation of one paired difference. Over `strata` independent models, whose variance
estimates are pooled, it is such that the standard error of the mean is sd / sqrt(seeds).
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

BETTER, WORSE, EQUIVALENT = "better", "worse", "equivalent"  # what is found
NOT_CONFIRMED = "not confirmed"  # or why nothing is: p is below ALPHA, and above it once corrected
NONE_SEEN = "none seen"  # neither; `detectable` says what would have been found
NO_SPREAD, IDENTICAL, ONE_SEED = "no spread", "identical", "one seed"

SUPPORTED, CONTRADICTED = "supported", "contradicted"
NOT_RESOLVED, NOT_TESTED = "not resolved", "not tested in this study"
NOT_TESTABLE = "not testable here"  # a gate of the study's validity failed
PREDICTED = {"higher": BETTER, "lower": WORSE, "equal": EQUIVALENT}
"""What a claim that names this direction predicts that a test finds."""


EXACT_PAIRS = 16  # sign-flips of up to so many pairs are counted: 65,536
DRAWN = 100_000  # flips drawn where they are not counted
_HELD = 2**22  # numbers held at once


def sign_flip_floor(pairs: int) -> float:
    """The smallest p of a sign-flip test of so many pairs: 2 / 2^n, or that of the drawn flips."""
    return 2.0 / 2**pairs if pairs <= EXACT_PAIRS else 1 / (DRAWN + 1)


def sign_flip(differences: ArrayLike) -> Floats:
    """Two-sided sign-flip test of a mean of 0 (Fisher 1935): every paired difference could have had the other sign.

    Exact for up to :data:`EXACT_PAIRS` pairs, p is then a multiple of 2 / 2^n; otherwise from :data:`DRAWN` random
    flips, which depend on nothing but the number of pairs. From shape (..., pairs) to (...); 1 where the differences
    are all 0. No value, or one that is not finite, is a ValueError.

    `scipy.stats.permutation_test` flips. It is given signs in the place of values, so that one product makes the
    statistics of many samples at once, and whether a statistic is as extreme as the observed one in the place of the
    statistic: its own tolerance for ties is relative, and none where the observed statistic is 0.
    """
    array = np.asarray(differences, dtype=np.float64)
    if array.ndim == 0 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"a sign-flip test needs at least one finite value, not {differences!r}")
    *shape, pairs = array.shape
    if pairs == 1:  # the flip is as far from 0; scipy refuses a sample of one value
        return np.ones(shape)
    exact = pairs <= EXACT_PAIRS
    samples = array.reshape(-1, pairs)
    rounding = ROUNDING * np.maximum(1.0, np.abs(samples).max(axis=1))
    least = np.abs(samples.mean(axis=1)) - rounding  # so far from 0 a mean is as extreme as the observed one

    def as_extreme(signs: Floats, axis: int) -> NDArray[np.bool_]:
        return np.abs(signs @ samples.T) / pairs >= least

    flipped = stats.permutation_test(
        (np.ones(pairs),),
        as_extreme,
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**EXACT_PAIRS if exact else DRAWN,  # all, where there are no more
        batch=max(1, _HELD // len(samples)),
        alternative="greater",
        rng=None if exact else generator(0, "sign-flips", pairs),
    )
    return np.asarray(flipped.pvalue).reshape(shape)


def deciding_test(seeds: ArrayLike) -> NDArray[np.str_]:
    """The name of the test that decides with so many seeds, shape as given."""
    return np.where(np.asarray(seeds) >= SIGN_FLIP_FROM, SIGN_FLIP, PAIRED_T)


def p_of_strata(strata: Sequence[Floats], p_t: float) -> float:
    """The deciding p of a mean of 0 over strata (models) that each weigh the same; every sign may flip on its own.

    From the differences of each, shape (seeds of the stratum,), and the p of `statistics.intervals.stratified_t`.
    """
    if deciding_test(min(map(len, strata))) == PAIRED_T:
        return p_t
    runs = sum(map(len, strata))
    weighed = [values * (runs / (len(strata) * len(values))) for values in strata]  # their mean is that of the strata
    return float(sign_flip(np.concatenate(weighed)))


def two_one_sided(estimate: ArrayLike, se: ArrayLike, df: ArrayLike, low: float, high: float) -> Floats:
    """The larger p of two one-sided t-tests, that a mean is not above `low` and not below `high` (Schuirmann 1987).

    A small p shows that the mean, `estimate` with its standard error and degrees of freedom, shape (...), lies within
    the limits, which are in its unit: the methods are equivalent for them. NaN where `se` is. Limits whose lower one is
    not below the upper one are a UserError.
    """
    if not low < high:
        raise UserError(f"equivalence limits {low} to {high}: the lower must lie below the upper")
    mean, error, free = (np.asarray(a, dtype=np.float64) for a in (estimate, se, df))
    above_low, below_high = stats.t.sf((mean - low) / error, free), stats.t.cdf((mean - high) / error, free)
    return np.asarray(np.maximum(above_low, below_high))


def holm(p: ArrayLike) -> Floats:
    """Holm's (1979) step-down adjusted p values, which bound the chance of any false rejection in the family.

    Of the whole family, shape (tests,). A test that could not be made (NaN) stays NaN but counts as one with p = 1, so
    that it does not make the others easier: the family was declared before the data. statsmodels' `multipletests` gives
    the same, and collects garbage at every call.
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw)  # NaN is last
    steps = np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def holm_of_distinct(p: Sequence[float] | Floats, tests: Sequence[Hashable]) -> Floats:
    """:func:`holm`, shape (tests,), in which equal `tests` (as of arms whose runs are the same) count once."""
    first: dict[Hashable, int] = {}
    for place, test in enumerate(tests):
        first.setdefault(test, place)
    adjusted = dict(zip(first, holm(np.asarray(p, dtype=np.float64)[list(first.values())]), strict=True))
    return np.array([adjusted[test] for test in tests])


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Benjamini and Hochberg's (1995) step-up adjusted p values, which bound the expected share of false rejections.

    The bound holds for tests that are independent or positively dependent; NaN as of :func:`holm`.
    """
    raw = np.asarray(p, dtype=np.float64)
    absent = np.isnan(raw)
    return np.where(absent, np.nan, stats.false_discovery_control(np.where(absent, 1.0, raw)))


def finding(
    toward: ArrayLike, p: ArrayLike, p_adjusted: ArrayLike, p_equivalence_adjusted: ArrayLike
) -> NDArray[np.str_]:
    """What tests found: `toward`, else :data:`EQUIVALENT`, else nothing: :data:`NOT_CONFIRMED` or :data:`NONE_SEEN`.

    `toward` is what a small p of the deciding test shows, such as :data:`BETTER`, if it is small after the correction
    for its family too; `p_equivalence_adjusted` is of :func:`two_one_sided` for the margin, corrected likewise. NaN is
    no test; shapes broadcast.
    """
    nothing = np.where(np.less(p, ALPHA), NOT_CONFIRMED, NONE_SEEN)
    equivalent = np.where(np.less(p_equivalence_adjusted, ALPHA), EQUIVALENT, nothing)
    return np.where(np.less(p_adjusted, ALPHA), toward, equivalent)


def claim_verdict(predicted: str, found: str) -> str:
    """The verdict on a claim, given the finding that it predicts and the one that was made."""
    if found == predicted:
        return SUPPORTED
    return CONTRADICTED if found in (BETTER, WORSE, EQUIVALENT) else NOT_RESOLVED


MOST_SEEDS = 10_000  # a study that needs more seeds than this is out of reach: reported as infinity


def _check(wanted: float, alpha: float) -> None:
    """A study chooses its power."""
    if not alpha < wanted < 1:
        raise UserError(f"power {wanted}: must lie between alpha, {alpha:g}, and 1")


def _power(noncentrality: ArrayLike, df: ArrayLike, alpha: float) -> Floats:
    """The power from the noncentrality. Scipy gives NaN for the wrong-sided tail where it is next to nothing."""
    shift, free = np.broadcast_arrays(np.asarray(noncentrality, np.float64), np.asarray(df, np.float64))
    critical = special.stdtrit(free, 1 - alpha / 2)
    wrong_side = stats.nct.cdf(-critical, free, shift)
    return np.asarray(stats.nct.sf(critical, free, shift) + np.where(np.isnan(wrong_side) & (shift > 4), 0, wrong_side))


def power(effect: ArrayLike, sd: ArrayLike, seeds: ArrayLike, alpha: float = ALPHA, strata: int = 1) -> Floats:
    """The chance that a two-sided paired t-test finds a true mean difference.

    The noncentral t distribution with noncentrality |effect| / (sd / sqrt(seeds)) and strata * (seeds - 1) degrees of
    freedom (Cohen 1988, chapter 2); `statsmodels.stats.power.TTestPower` has no strata, and NaN for large effects.
    Effect and sd are in the values' unit, seeds of each stratum 2 or more; shapes broadcast; NaN where sd is NaN or 0.
    """
    pairs, spread = np.asarray(seeds, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    ratio = np.abs(np.asarray(effect, dtype=np.float64)) / np.where(spread > 0, spread, np.nan)
    return _power(ratio * np.sqrt(pairs), strata * (pairs - 1), alpha)


@lru_cache(maxsize=1024)
def _detectable_noncentrality(df: float, wanted: float, alpha: float) -> float:
    """The noncentrality at which the two-sided test has the power."""

    def excess(noncentrality: float) -> float:
        return float(_power(noncentrality, df, alpha)) - wanted

    high = 1.0
    while excess(high) < 0:
        high *= 2
    return float(optimize.brentq(excess, 0.0, high, xtol=1e-12, rtol=1e-12))


def detectable(sd: ArrayLike, seeds: int, wanted: float, alpha: float = ALPHA, strata: int = 1) -> Floats:
    """The smallest true mean difference that the paired t-test finds with the power `wanted`.

    In shape and unit of `sd`; NaN where that is NaN or 0, or with fewer than 2 seeds. A power out of range is a
    UserError.
    """
    _check(wanted, alpha)
    spread = np.asarray(sd, dtype=np.float64)
    if seeds < 2:
        return np.full(spread.shape, np.nan)
    needed = _detectable_noncentrality(strata * (seeds - 1), wanted, alpha)
    return np.asarray(np.where(spread > 0, spread, np.nan) * needed / np.sqrt(seeds))


def seeds_needed(effect: ArrayLike, sd: ArrayLike, wanted: float, alpha: float = ALPHA, strata: int = 1) -> Floats:
    """The smallest number of seeds, from 2, at which the paired t-test finds a difference with the power `wanted`.

    Infinity above :data:`MOST_SEEDS`; NaN where sd is NaN or 0; shapes broadcast, errors as of :func:`detectable`.
    """
    _check(wanted, alpha)
    size, spread = np.broadcast_arrays(np.abs(np.asarray(effect, np.float64)), np.asarray(sd, np.float64))
    unknown = ~(spread > 0)
    enough, few = np.full(size.shape, MOST_SEEDS + 1), np.full(size.shape, 1)  # enough always finds it, few never
    while (enough - few > 1).any():
        middle = np.maximum((enough + few) // 2, 2)
        found = power(size, spread, middle, alpha, strata) >= wanted
        enough, few = np.where(found, middle, enough), np.where(found, few, np.minimum(middle, enough - 1))
    return np.asarray(np.where(unknown, np.nan, np.where(enough > MOST_SEEDS, np.inf, enough)))
