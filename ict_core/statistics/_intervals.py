"""Student's intervals of means over training runs: of one sample or many, of two samples, of strata, of groups.

All but :func:`over_seeds` give an :class:`Estimate`. Nothing here speaks for new problems: `two_way` does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ict_core.errors import UserError

LEVEL = 0.95
ROUNDING = 1e-12  # values (shares, about 1) closer than this differ by rounding alone

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """Means with standard errors, degrees of freedom and confidence limits, each of shape (...), in the values' unit.

    All but the mean is NaN where the variance cannot be estimated: from one value, or from values that are all equal
    (a sample variance of 0 is no estimate of how they vary).
    """

    mean: Floats
    se: Floats
    df: Floats
    low: Floats
    high: Floats

    @property
    def p(self) -> Floats:
        """Two-sided p of Student's test of a mean of 0, shape (...); NaN where there is no standard error."""
        return np.asarray(2 * special.stdtr(self.df, -np.abs(self.mean / self.se)))


def check_level(level: float) -> None:
    """Raise a ValueError unless 0 < level < 1."""
    if not 0 < level < 1:
        raise ValueError(f"an interval's level must lie in (0, 1), not {level}")


def student(mean: ArrayLike, variance: ArrayLike, df: ArrayLike, level: float = LEVEL, scale: float = 1.0) -> Estimate:
    """Student's limits of means, shape (...), from their variances (NaN where there is none) and degrees of freedom.

    A standard error below `ROUNDING` times `scale`, the size of the values, is rounding and counts as none. Here and
    below a level outside (0, 1) is a ValueError.
    """
    check_level(level)
    centre, spread, degrees = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (mean, variance, df)))
    known = spread > (ROUNDING * max(1.0, scale)) ** 2
    se = np.sqrt(np.where(known, spread, np.nan))
    degrees = np.where(known, degrees, np.nan)
    half = special.stdtrit(degrees, (1 + level) / 2) * se
    return Estimate(np.array(centre), se, degrees, centre - half, centre + half)


def without_spread(values: Floats) -> NDArray[np.bool_]:
    """Whether all values along the last axis, shape (..., n), are equal up to rounding; shape (...)."""
    size = np.maximum(1.0, np.abs(values).max(axis=-1))
    return np.asarray(np.ptp(values, axis=-1) <= ROUNDING * size)


def satterthwaite(variance: Floats, squares: Floats) -> Floats:
    """Satterthwaite's (1946) degrees of freedom of a sum of estimated variances; NaN where all of them are 0.

    `variance` is the sum, `squares` that of each part squared over its own degrees of freedom, shape (...) each.
    """
    return np.asarray(np.divide(variance**2, squares, out=np.full(np.shape(variance), np.nan), where=squares > 0))


def over_runs(values: ArrayLike, level: float = LEVEL) -> Estimate:
    """The means of independent values, one a training run, shape (..., runs): for new runs on *these* problems.

    For a comparison the values are the paired differences, one a seed. None, or one not finite, is a ValueError.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim == 0 or sample.size == 0 or not np.isfinite(sample).all():
        raise ValueError(f"an interval needs at least one finite value, not {values!r}")
    runs, mean = sample.shape[-1], sample.mean(axis=-1)
    if runs == 1:
        return student(mean, np.nan, np.nan, level)
    variance = np.where(without_spread(sample), np.nan, sample.var(axis=-1, ddof=1) / runs)
    return student(mean, variance, runs - 1, level)


def over_seeds(values: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """:func:`over_runs` of the column `value`, a row a run, in each group that has the columns `by` in common.

    Returns:
        `by` (which may hold NaN), mean, low, high and seeds (runs whose value is not NaN), groups as they first come.
    """
    groups = values.groupby(list(by), sort=False, dropna=False)["value"]
    mean, seeds = groups.mean(), groups.count()
    interval = student(mean, groups.var() / seeds, seeds - 1)
    return mean.rename("mean").to_frame().assign(low=interval.low, high=interval.high, seeds=seeds).reset_index()


def welch(ours: Floats, theirs: Floats, level: float = LEVEL) -> Estimate:
    """Ours minus theirs, shape (..., runs) each, as unpaired runs whose variances may differ (Welch 1947).

    The numbers of `scipy.stats.ttest_ind`, but arms without spread up to rounding, or of one run, have no interval.
    """
    arms = [over_runs(runs, level) for runs in (ours, theirs)]
    free = [runs.shape[-1] - 1 for runs in (ours, theirs)]
    mean = arms[0].mean - arms[1].mean
    if 0 in free:
        return student(mean, np.nan, np.nan, level)
    first, second = (np.nan_to_num(np.square(arm.se)) for arm in arms)
    variance = first + second
    return student(mean, variance, satterthwaite(variance, first**2 / free[0] + second**2 / free[1]), level)


def mean_of_means(strata: Sequence[Floats], level: float = LEVEL) -> Estimate:
    """The mean over independent strata, shape (..., n) each, of their means; every one weighs the same, whatever its n.

    The squared standard error is the sum of the M strata's s^2 / n over M^2, with Satterthwaite's degrees of freedom.
    There is no interval where a stratum has one value, or none has any spread.
    """
    mean = np.mean([stratum.mean(axis=-1) for stratum in strata], axis=0)
    sizes = np.array([stratum.shape[-1] for stratum in strata]).reshape(-1, *[1] * mean.ndim)
    if sizes.min() == 1:
        return student(mean, np.nan, np.nan, level)
    parts = np.array([stratum.var(axis=-1, ddof=1) for stratum in strata]) / sizes / len(strata) ** 2
    variance = parts.sum(axis=0)
    scale = max(float(np.abs(stratum).max()) for stratum in strata)
    return student(mean, variance, satterthwaite(variance, (parts**2 / (sizes - 1)).sum(axis=0)), level, scale)


def stratified_t(differences: Sequence[Floats], level: float = LEVEL) -> Estimate:
    """:func:`mean_of_means` over models that were run independently, from the paired differences, (seeds,), of each.

    Raises:
        UserError: a value of a run is not finite.
        ValueError: no stratum, or one without values.
    """
    strata = [np.asarray(values, dtype=np.float64) for values in differences]
    if not strata or any(s.ndim != 1 or s.size == 0 for s in strata):
        raise ValueError(f"a mean over strata needs a list of values in each stratum, not {[s.shape for s in strata]}")
    if not all(np.isfinite(s).all() for s in strata):
        raise UserError("a mean over strata needs finite values; a run has another")
    return mean_of_means(strata, level)
