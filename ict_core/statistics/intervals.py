"""The t-interval for a mean over training seeds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ict_core.errors import UserError

LEVEL = 0.95
ROUNDING = 1e-12  # values (shares, about 1) closer than this differ by rounding alone


@dataclass(frozen=True)
class Interval:
    """A mean over n values with its confidence limits, in the values' unit; the limits are NaN where there is none."""

    mean: float
    low: float
    high: float
    n: int


def without_spread(values: NDArray[np.float64]) -> bool:
    """Whether all values, shape (n,), are equal up to rounding, so that they say nothing about their variance."""
    return bool(np.ptp(values) <= ROUNDING * max(1.0, float(np.abs(values).max())))


def t_interval(values: ArrayLike, level: float = LEVEL) -> Interval:
    """Student's interval for the mean of independent values, one a training run.

    It speaks for new runs on *these* problems, not for new problems. A single value has no interval, and neither have
    values that are all equal: their sample variance of 0 is no estimate of how runs vary.

    Args:
        values: shape (n,), finite.
        level: coverage in (0, 1).

    Raises:
        UserError: no values, a value that is not finite, or a level outside (0, 1).
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size == 0 or not np.isfinite(sample).all():
        raise UserError(f"an interval needs a list of at least one finite value, not {values!r}")
    if not 0 < level < 1:
        raise UserError(f"an interval's level must lie in (0, 1), not {level}")
    mean = float(sample.mean())
    if sample.size == 1 or without_spread(sample):
        return Interval(mean, float("nan"), float("nan"), sample.size)
    half = float(stats.t.ppf((1 + level) / 2, sample.size - 1) * sample.std(ddof=1) / np.sqrt(sample.size))
    return Interval(mean, mean - half, mean + half, sample.size)
