"""Intervals of a model of which there is one run, for new problems: the base model's."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.stats.proportion import proportion_confint

from ict_core.statistics.intervals import LEVEL, Estimate, check_level, student
from ict_core.statistics.two_way import check_blocks


def over_problems(blocks: Sequence[NDArray[np.float64]], level: float = LEVEL) -> Estimate:
    """Student's interval over the problems of one or several benchmarks, for this run on new problems.

    The variance of the mean is the sum of the benchmarks' squared standard errors times 1/B^2, with Satterthwaite's
    (1946) degrees of freedom; for one benchmark this is the t-interval over its problems.

    Args:
        blocks: one a benchmark, each of shape (..., problems of the benchmark), finite; every benchmark weighs the
            same, whatever its size.
        level: coverage in (0, 1).

    Returns:
        Arrays of shape (...). With a benchmark of one problem, or without any spread, there is no interval.

    Raises:
        ValueError: no block, an empty one, blocks whose leading shapes differ, a value that is not finite, or a level
            outside (0, 1).
    """
    arrays = check_blocks(blocks, 1)
    mean = np.mean([array.mean(axis=-1) for array in arrays], axis=0)
    if min(array.shape[-1] for array in arrays) == 1:
        return student(mean, np.nan, np.nan, level)
    parts = np.array([array.var(axis=-1, ddof=1) / array.shape[-1] for array in arrays]) / len(arrays) ** 2
    free = np.array([array.shape[-1] - 1 for array in arrays]).reshape(-1, *[1] * mean.ndim)
    variance, square = parts.sum(axis=0), (parts**2 / free).sum(axis=0)
    df = np.divide(variance**2, square, out=np.full(mean.shape, np.nan), where=square > 0)
    return student(mean, variance, df, level, max(1.0, *(float(np.abs(array).max()) for array in arrays)))


def wilson(values: ArrayLike, level: float = LEVEL) -> Estimate:
    """Wilson's (1927) interval of a share, where each problem was sampled once and is right or wrong.

    With more samples a problem the problems are no yes-or-no trials: use :func:`over_problems`.

    Args:
        values: 0 or 1 of each problem, shape (..., problems).
        level: coverage in (0, 1).

    Returns:
        Arrays of shape (...); the standard error and the degrees of freedom are NaN.

    Raises:
        ValueError: a value other than 0 and 1, no value, or a level outside (0, 1).
    """
    check_level(level)
    trials = np.asarray(values, dtype=np.float64)
    if trials.ndim == 0 or trials.size == 0 or not np.isin(trials, (0, 1)).all():
        raise ValueError("Wilson's interval needs one yes or no (1 or 0) of each problem: one sample a problem")
    low, high = proportion_confint(trials.sum(axis=-1), trials.shape[-1], alpha=1 - level, method="wilson")
    mean = trials.mean(axis=-1)
    none = np.full(mean.shape, np.nan)
    return Estimate(mean, none, none.copy(), np.asarray(low), np.asarray(high))
