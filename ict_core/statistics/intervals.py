"""Student's interval for a mean over training runs, for one sample or for many at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

LEVEL = 0.95
ROUNDING = 1e-12  # values (shares, about 1) closer than this differ by rounding alone


@dataclass(frozen=True)
class Estimate:
    """Means with standard errors, degrees of freedom and confidence limits, each of shape (...), in the values' unit.

    All but the mean is NaN where the variance cannot be estimated: from one value, or from values that are all equal
    (a sample variance of 0 is no estimate of how they vary).
    """

    mean: NDArray[np.float64]
    se: NDArray[np.float64]
    df: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def p(self) -> NDArray[np.float64]:
        """Two-sided p of Student's test of a mean of 0, shape (...); NaN where there is no standard error."""
        return np.asarray(2 * special.stdtr(self.df, -np.abs(self.mean / self.se)))


def check_level(level: float) -> None:
    """Raise a ValueError unless 0 < level < 1."""
    if not 0 < level < 1:
        raise ValueError(f"an interval's level must lie in (0, 1), not {level}")


def student(mean: ArrayLike, variance: ArrayLike, df: ArrayLike, level: float = LEVEL, scale: float = 1.0) -> Estimate:
    """Student's limits of means from their estimated variances.

    Args:
        mean: shape (...).
        variance: of the mean, shape (...); NaN where there is none.
        df: its degrees of freedom, shape (...), need not be whole.
        level: coverage in (0, 1).
        scale: the size of the values; a standard error below `ROUNDING` times it is rounding and counts as none.

    Raises:
        ValueError: a level outside (0, 1).
    """
    check_level(level)
    centre, spread, degrees = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (mean, variance, df)))
    known = spread > (ROUNDING * max(1.0, scale)) ** 2
    se = np.sqrt(np.where(known, spread, np.nan))
    degrees = np.where(known, degrees, np.nan)
    half = special.stdtrit(degrees, (1 + level) / 2) * se
    return Estimate(np.array(centre), se, degrees, centre - half, centre + half)


def without_spread(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether all values along the last axis, shape (..., n), are equal up to rounding; shape (...)."""
    size = np.maximum(1.0, np.abs(values).max(axis=-1))
    return np.asarray(np.ptp(values, axis=-1) <= ROUNDING * size)


def over_runs(values: ArrayLike, level: float = LEVEL) -> Estimate:
    """Student's interval for means of independent values, one a training run.

    It speaks for new runs on *these* problems, not for new problems. A single run has no interval, and neither have
    runs that are all equal.

    Args:
        values: shape (..., runs), finite; for a comparison the paired differences, one a seed.
        level: coverage in (0, 1).

    Returns:
        Arrays of shape (...).

    Raises:
        ValueError: no values, a value that is not finite, or a level outside (0, 1).
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim == 0 or sample.size == 0 or not np.isfinite(sample).all():
        raise ValueError(f"an interval needs at least one finite value, not {values!r}")
    runs, mean = sample.shape[-1], sample.mean(axis=-1)
    if runs == 1:
        return student(mean, np.nan, np.nan, level)
    variance = np.where(without_spread(sample), np.nan, sample.var(axis=-1, ddof=1) / runs)
    return student(mean, variance, runs - 1, level)


@dataclass(frozen=True)
class Interval:
    """A mean over n values with its confidence limits, in the values' unit; the limits are NaN where there is none."""

    mean: float
    low: float
    high: float
    n: int


def t_interval(values: ArrayLike, level: float = LEVEL) -> Interval:
    """:func:`over_runs` of one sample, shape (n,)."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1:
        raise ValueError(f"an interval needs a list of at least one finite value, not {values!r}")
    found = over_runs(sample, level)
    return Interval(float(found.mean), float(found.low), float(found.high), sample.size)
