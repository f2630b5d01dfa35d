"""What the paired t-test can find: its power, the smallest detectable difference, the seeds needed.

`sd` is the standard deviation of one paired difference. Over `strata` independent models, whose variance estimates are
pooled, it is such that the standard error of the mean is sd / sqrt(seeds).
"""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from ict_core.errors import UserError
from ict_core.statistics._deciding import ALPHA
from ict_core.statistics._intervals import Floats

MOST_SEEDS = 10_000  # a study that needs more seeds than this is out of reach: reported as infinity


def _check(alpha: float, strata: int, wanted: float | None = None) -> None:
    """The caller chooses alpha and strata (ValueError), the study its power (UserError)."""
    if not (0 < alpha < 1 and strata >= 1):
        raise ValueError(f"alpha {alpha}, {strata} strata: need 0 < alpha < 1 and a stratum")
    if wanted is not None and not alpha < wanted < 1:
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
    Effect and sd are in the values' unit, seeds of each stratum; shapes broadcast; NaN where sd is NaN or 0.

    Raises:
        ValueError: fewer than 2 seeds, or alpha or strata out of range.
    """
    _check(alpha, strata)
    pairs, spread = np.asarray(seeds, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    if (pairs < 2).any():
        raise ValueError(f"power: a paired test needs at least 2 seeds, not {pairs.min():g}")
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

    In shape and unit of `sd`; NaN where that is NaN or 0, or with fewer than 2 seeds.

    Raises:
        UserError: power out of range.
        ValueError: alpha or strata out of range.
    """
    _check(alpha, strata, wanted)
    spread = np.asarray(sd, dtype=np.float64)
    if seeds < 2:
        return np.full(spread.shape, np.nan)
    needed = _detectable_noncentrality(strata * (seeds - 1), wanted, alpha)
    return np.asarray(np.where(spread > 0, spread, np.nan) * needed / np.sqrt(seeds))


def seeds_needed(effect: ArrayLike, sd: ArrayLike, wanted: float, alpha: float = ALPHA, strata: int = 1) -> Floats:
    """The smallest number of seeds, from 2, at which the paired t-test finds a difference with the power `wanted`.

    Infinity above :data:`MOST_SEEDS`; NaN where sd is NaN or 0; shapes broadcast, errors as of :func:`detectable`.
    """
    _check(alpha, strata, wanted)
    size, spread = np.broadcast_arrays(np.abs(np.asarray(effect, np.float64)), np.asarray(sd, np.float64))
    unknown = ~(spread > 0)
    enough, few = np.full(size.shape, MOST_SEEDS + 1), np.full(size.shape, 1)  # enough always finds it, few never
    while (enough - few > 1).any():
        middle = np.maximum((enough + few) // 2, 2)
        found = power(size, spread, middle, alpha, strata) >= wanted
        enough, few = np.where(found, middle, enough), np.where(found, few, np.minimum(middle, enough - 1))
    return np.asarray(np.where(unknown, np.nan, np.where(enough > MOST_SEEDS, np.inf, enough)))
