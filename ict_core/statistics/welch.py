"""Welch's comparison of two methods' runs, which takes them as unpaired: a second view."""

import numpy as np
from numpy.typing import NDArray

from ict_core.statistics.intervals import LEVEL, Estimate, over_runs, student


def welch(ours: NDArray[np.float64], theirs: NDArray[np.float64], level: float = LEVEL) -> Estimate:
    """Ours minus theirs with Welch's (1947) interval, which lets the two methods' runs vary differently.

    The same as `scipy.stats.ttest_ind(..., equal_var=False)`, for many samples at once and with no interval (NaN)
    where neither method's runs vary or a method has one run.

    Args:
        ours: one value a run, shape (..., runs), finite.
        theirs: likewise, shape (..., their runs).
        level: coverage in (0, 1).

    Raises:
        ValueError: no runs, a value that is not finite, or a level outside (0, 1).
    """
    a, b = over_runs(ours, level), over_runs(theirs, level)
    mean, free = a.mean - b.mean, (ours.shape[-1] - 1, theirs.shape[-1] - 1)
    if 0 in free:
        return student(mean, np.nan, np.nan, level)
    parts = [np.nan_to_num(np.square(arm.se)) for arm in (a, b)]
    variance, square = parts[0] + parts[1], parts[0] ** 2 / free[0] + parts[1] ** 2 / free[1]
    df = np.divide(variance**2, square, out=np.full(np.shape(mean), np.nan), where=square > 0)
    return student(mean, variance, df, level)
