"""The intervals that speak for new problems: of several runs, and of the only run of a model that was not trained.

Several runs follow the two-way random model: a value of run s on problem p is mean + run effect + problem effect +
rest, all random. The variance of the mean over S runs and P problems is then estimated without bias by V_runs +
V_problems - V_residual: the variance of the run means over S, plus that of the problem means over P, less the residual
mean square over S P, which both contain (Searle, Casella and McCulloch 1992, chapter 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.stats.proportion import proportion_confint

from ict_core.statistics._intervals import LEVEL, Estimate, Floats, check_level, mean_of_means, satterthwaite, student

EQUAL = 1e-9  # variances whose ratio is closer to 1 differ by rounding alone


@dataclass(frozen=True)
class VarianceParts:
    """The parts of the variance of a mean over B benchmarks, in the values' unit squared.

    `runs` is from the run means averaged over benchmarks, so that what a run shares between benchmarks is in it.
    """

    mean: Floats  # every benchmark weighs the same, shape (...)
    runs: Floats  # shape (...); NaN with one run
    problems: Floats  # of each benchmark, times 1/B^2, shape (B, ...); NaN for a benchmark of one problem
    residual: Floats  # of each benchmark, times 1/B^2, shape (B, ...); NaN with one run or one problem
    sizes: tuple[int, NDArray[np.int64]]  # runs, and problems of each benchmark, shape (B,)


def _checked(blocks: Sequence[Floats], axes: int) -> list[Floats]:
    """The blocks as finite float arrays, each with `axes` axes or more and the same shape but for the last."""
    arrays = [np.asarray(block, dtype=np.float64) for block in blocks]
    if not arrays:
        raise ValueError("an interval needs the values of at least one benchmark")
    for i, array in enumerate(arrays):
        if array.ndim < axes or array.size == 0 or array.shape[:-1] != arrays[0].shape[:-1]:
            raise ValueError(
                f"benchmark {i}: values of shape {array.shape} do not fit shape {arrays[0].shape} of the first"
            )
        if not np.isfinite(array).all():
            raise ValueError(f"benchmark {i}: a value is not finite")
    return arrays


def _variance(values: Floats, divisor: int) -> Floats:
    """The sample variance along the last axis over `divisor`; NaN for a single value."""
    if values.shape[-1] == 1:
        return np.full(values.shape[:-1], np.nan)
    return values.var(axis=-1, ddof=1) / divisor


def variance_parts(blocks: Sequence[Floats]) -> VarianceParts:
    """Split the variance of the mean over runs, problems and benchmarks; arguments and errors as of :func:`two_way`."""
    arrays = _checked(blocks, 2)
    weight, runs = 1 / len(arrays) ** 2, arrays[0].shape[-2]
    run_means = [array.mean(axis=-1) for array in arrays]
    problems, residual = [], []
    for array, run_mean in zip(arrays, run_means, strict=True):
        size, problem_mean = array.shape[-1], array.mean(axis=-2)
        problems.append(weight * _variance(problem_mean, size))
        rest = array - run_mean[..., None] - (problem_mean - run_mean.mean(axis=-1)[..., None])[..., None, :]
        free = (runs - 1) * (size - 1)
        square = np.square(rest).sum(axis=(-2, -1)) / free if free else np.full(rest.shape[:-2], np.nan)
        residual.append(weight * square / (runs * size))
    average = np.mean(run_means, axis=0)
    sizes = (runs, np.array([array.shape[-1] for array in arrays]))
    return VarianceParts(average.mean(axis=-1), _variance(average, runs), np.array(problems), np.array(residual), sizes)


def two_way(blocks: Sequence[Floats], level: float = LEVEL) -> Estimate:
    """The mean over benchmarks with an interval for new runs on new problems.

    The variance is the largest of V_runs + V_problems - V_residual, V_runs, V_problems and V_residual. This cuts the
    components at 0: where V_problems is below V_residual, the problems' own component is estimated below 0, and with
    0 in its place the sum is V_runs; likewise for the runs, and V_residual where both are cut. The degrees of freedom
    are Satterthwaite's for the mean squares in the variance chosen.

    Args:
        blocks: one a benchmark, each of shape (..., runs, problems of the benchmark), finite; every benchmark weighs
            the same, whatever its size. For a comparison the differences, paired by seed and problem.

    Returns:
        Arrays of shape (...). With one run, a benchmark of one problem, or a variance of 0 there is no interval.

    Raises:
        ValueError: no block, an empty one, leading shapes that differ, a value that is not finite, or a level
            outside (0, 1).
    """
    parts = variance_parts(blocks)
    runs, sizes = parts.sizes
    free_runs = max(runs - 1, 1)  # the parts are NaN where there is one run or problem: any divisor serves
    free = np.maximum(sizes - 1, 1).reshape(-1, *[1] * parts.mean.ndim)
    v_runs, v_problems, v_residual = parts.runs, parts.problems.sum(axis=0), parts.residual.sum(axis=0)
    by_runs = v_runs**2 / free_runs
    by_problems = (parts.problems**2 / free).sum(axis=0)
    by_residual = (parts.residual**2 / (free_runs * free)).sum(axis=0)
    variances = np.stack([v_runs + v_problems - v_residual, v_runs, v_problems, v_residual])
    squares = np.stack([by_runs + by_problems + by_residual, by_runs, by_problems, by_residual])
    # the first that is as large as the largest: of equal variances, rounding must not choose the degrees of freedom
    chosen = (variances >= (1 - EQUAL) * variances.max(axis=0)).argmax(axis=0)[None]
    variance, square = (np.take_along_axis(a, chosen, axis=0)[0] for a in (variances, squares))
    scale = max(float(np.abs(block).max()) for block in blocks)
    return student(parts.mean, variance, satterthwaite(variance, square), level, scale)


def over_problems(blocks: Sequence[Floats], level: float = LEVEL) -> Estimate:
    """The mean over benchmarks of one run's means over problems (`mean_of_means`): for this run on new problems.

    The blocks are of shape (..., problems of the benchmark), errors as of :func:`two_way`. With a benchmark of one
    problem, or without any spread, there is no interval.
    """
    return mean_of_means(_checked(blocks, 1), level)


def wilson(values: ArrayLike, level: float = LEVEL) -> Estimate:
    """Wilson's (1927) interval of a share, where each problem was sampled once and is right or wrong.

    With more samples a problem the problems are no yes-or-no trials: use :func:`over_problems`. From 0 and 1, shape
    (..., problems); other values are a ValueError. The standard error and the degrees of freedom are NaN.
    """
    check_level(level)
    trials = np.asarray(values, dtype=np.float64)
    if trials.ndim == 0 or trials.size == 0 or not np.isin(trials, (0, 1)).all():
        raise ValueError("Wilson's interval needs one yes or no (1 or 0) of each problem: one sample a problem")
    low, high = proportion_confint(trials.sum(axis=-1), trials.shape[-1], alpha=1 - level, method="wilson")
    mean = trials.mean(axis=-1)
    none = np.full(mean.shape, np.nan)
    return Estimate(mean, none, none.copy(), np.asarray(low), np.asarray(high))
