"""Student's intervals of means: over training runs on these problems, and for new problems.

Only :func:`two_way`, :func:`over_problems`, :func:`over_clusters` and :func:`wilson` are for new problems. Several runs
follow the two-way random model: the value of run s on problem p is mean + run effect + problem effect + residual, all
random. An unbiased estimate of the variance of the mean over S runs and P problems is V_runs + V_problems - V_residual:
the variance of the run means over S, plus that of the problem means over P, less the residual mean square over S P,
which both contain (Searle, Casella and McCulloch 1992, chapter 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special
from statsmodels.stats.proportion import proportion_confint

from ict_core.errors import UserError
from ict_core.statistics.schemas import ROUNDING

LEVEL = 0.95
DIFFERENCE_DF, LEVEL_DF = 2.0, 3.0  # limits of the degrees of freedom, over runs - 1 (:func:`two_way`)

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

    def of_share(self) -> "Estimate":
        """The same for a share, with limits within 0 and 1: symmetric on the logit scale, by the delta method."""
        with np.errstate(divide="ignore", invalid="ignore"):  # a share of 0 or 1 has no interval: its values are equal
            half = (self.high - self.low) / 2 / (self.mean * (1 - self.mean))
            centre = special.logit(self.mean)
        return replace(self, low=special.expit(centre - half), high=special.expit(centre + half))

    def of_difference(self) -> "Estimate":
        """The same for a difference of two shares, with limits cut at -1 and 1, which no true difference exceeds."""
        return replace(self, low=np.maximum(self.low, -1.0), high=np.minimum(self.high, 1.0))


def student(mean: ArrayLike, variance: ArrayLike, df: ArrayLike, level: float = LEVEL, scale: float = 1.0) -> Estimate:
    """Student's limits of means, shape (...), from their variances (NaN where there is none) and degrees of freedom.

    A standard error below `ROUNDING` times `scale`, the size of the values, is due to rounding and counts as missing.
    """
    centre, spread, degrees = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (mean, variance, df)))
    valid = spread > (ROUNDING * max(1.0, scale)) ** 2
    se = np.sqrt(np.where(valid, spread, np.nan))
    degrees = np.where(valid, degrees, np.nan)
    half = special.stdtrit(degrees, (1 + level) / 2) * se
    return Estimate(np.array(centre), se, degrees, centre - half, centre + half)


def with_shared(value: Estimate, variance: float) -> Estimate:
    """An estimate whose values all share an error of this variance, in their unit squared, which their spread lacks."""
    return student(value.mean, value.se**2 + variance, value.df) if variance else value


def without_spread(values: Floats) -> NDArray[np.bool_]:
    """Whether all values along the last axis, shape (..., n), are equal up to rounding; shape (...)."""
    size = np.maximum(1.0, np.abs(values).max(axis=-1))
    return np.asarray(np.ptp(values, axis=-1) <= ROUNDING * size)


def satterthwaite(variance: Floats, squares: Floats) -> Floats:
    """Satterthwaite's (1946) degrees of freedom of a sum of estimated variances; NaN where all of them are 0.

    `variance` is the sum, `squares` the sum of each part squared over its degrees of freedom; both have shape (...).
    """
    return np.asarray(np.divide(variance**2, squares, out=np.full(np.shape(variance), np.nan), where=squares > 0))


def over_runs(values: ArrayLike) -> Estimate:
    """The means of independent values, one per training run, shape (..., runs): for new runs on *these* problems.

    For a comparison the values are the paired differences, one per seed. No value, or one not finite, is a ValueError.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim == 0 or sample.size == 0 or not np.isfinite(sample).all():
        raise ValueError(f"an interval needs at least one finite value, not {values!r}")
    runs, mean = sample.shape[-1], sample.mean(axis=-1)
    if runs == 1:
        return student(mean, np.nan, np.nan)
    variance = np.where(without_spread(sample), np.nan, sample.var(axis=-1, ddof=1) / runs)
    return student(mean, variance, runs - 1)


def over_seeds(values: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """:func:`over_runs` of the column `value`, one row per run, in each group of rows with equal columns `by`.

    The columns are `by` (NaN is a group), mean, low, high and seeds (runs whose value is not NaN), in order of groups.
    """
    groups = values.groupby(list(by), sort=False, dropna=False)["value"]
    mean, seeds = groups.mean(), groups.count()
    interval = student(mean, groups.var() / seeds, seeds - 1)
    return mean.rename("mean").to_frame().assign(low=interval.low, high=interval.high, seeds=seeds).reset_index()


def ratio_of_means(ours: ArrayLike, theirs: ArrayLike, shared: float = 0.0) -> Estimate:
    """The mean of ours over the mean of theirs, one pair per training run, shape (runs,), with Fieller's (1954) limits.

    They enclose the ratios r for which the paired t-test of ours - r theirs, whose mean is 0 at the true ratio, is not
    significant, and are exact for normal pairs, however few (docs/statistics.md). There are none (NaN) with one run, if
    ours - r theirs is the same in all runs, or if the mean of theirs does not differ from 0, as any ratio may then be
    true. The standard error is from the delta method. `shared` is the variance of an error that all values of both arms
    share. A ValueError if the arrays do not fit, or a value is not finite.
    """
    x, y = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or x.size == 0 or not np.isfinite([x, y]).all():
        raise ValueError(f"a ratio needs a finite value of both arms for each run, not {ours!r} and {theirs!r}")
    runs, means = x.size, (x.mean(), y.mean())
    ratio = np.float64(means[0] / means[1]) if means[1] else np.float64(np.nan)
    none = student(ratio, np.nan, np.nan)
    if runs == 1 or np.isnan(ratio) or without_spread(x - ratio * y):
        return none
    (v_ours, covariance), (_, v_theirs) = np.cov(x, y, ddof=1) / runs + shared
    t2 = special.stdtrit(runs - 1, (1 + LEVEL) / 2) ** 2
    a, b, c = means[1] ** 2 - t2 * v_theirs, means[0] * means[1] - t2 * covariance, means[0] ** 2 - t2 * v_ours
    if a <= 0:
        return none
    half = np.sqrt(max(0.0, b * b - a * c))
    se = np.sqrt(v_ours - 2 * ratio * covariance + ratio**2 * v_theirs) / abs(means[1])
    return Estimate(*(np.asarray(x) for x in (ratio, se, runs - 1.0, (b - half) / a, (b + half) / a)))


def over_problems(strata: Sequence[Floats], level: float = LEVEL) -> Estimate:
    """The mean of the means of independent strata, shape (..., n) each; all have the same weight, whatever their n.

    With benchmarks for strata and one run's values of problems it is for this run on new problems. The squared standard
    error is the sum of the M strata's s^2 / n over M^2, with Satterthwaite's degrees of freedom. There is no interval
    if a stratum has one value, or no stratum has any spread.
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
    """:func:`over_problems` over independently run models, from the paired differences of each, shape (seeds,).

    A UserError if a value is not finite. A ValueError if there is no stratum, or one without values.
    """
    strata = [np.asarray(values, dtype=np.float64) for values in differences]
    if not strata or any(s.ndim != 1 or s.size == 0 for s in strata):
        raise ValueError(f"a mean over strata needs a list of values in each stratum, not {[s.shape for s in strata]}")
    if not all(np.isfinite(s).all() for s in strata):
        raise UserError("a mean over strata needs finite values; a run has another")
    return over_problems(strata, level)


EQUAL = 1e-9  # variances whose ratio is closer to 1 than this differ by rounding alone


def _variance(values: Floats, divisor: int) -> Floats:
    """The sample variance along the last axis, divided by `divisor`; NaN for a single value."""
    if values.shape[-1] == 1:
        return np.full(values.shape[:-1], np.nan)
    return values.var(axis=-1, ddof=1) / divisor


def variance_parts(blocks: Sequence[Floats]) -> tuple[Floats, Floats, Floats, Floats]:
    """The mean over B benchmarks, and its variance by runs, problems and residual, from blocks as in :func:`two_way`.

    Mean and V_runs have shape (...). V_runs is from the run means averaged over benchmarks, so that it contains what a
    run shares between benchmarks. The others are of each benchmark, times 1/B^2, shape (B, ...). V_runs is NaN with one
    run, V_problems of a benchmark with one problem, V_residual with either.
    """
    weight, runs = 1 / len(blocks) ** 2, blocks[0].shape[-2]
    run_means = [block.mean(axis=-1) for block in blocks]
    problems, residual = [], []
    for block, run_mean in zip(blocks, run_means, strict=True):
        size, problem_mean = block.shape[-1], block.mean(axis=-2)
        problems.append(weight * _variance(problem_mean, size))
        rest = block - run_mean[..., None] - (problem_mean - run_mean.mean(axis=-1)[..., None])[..., None, :]
        free = (runs - 1) * (size - 1)
        square = np.square(rest).sum(axis=(-2, -1)) / free if free else np.full(rest.shape[:-2], np.nan)
        residual.append(weight * square / (runs * size))
    average = np.mean(run_means, axis=0)
    return average.mean(axis=-1), _variance(average, runs), np.array(problems), np.array(residual)


def two_way(blocks: Sequence[Floats], df_per_run: float = DIFFERENCE_DF) -> Estimate:
    """The mean over benchmarks with an interval for new runs on new problems.

    The variance is the largest of V_runs + V_problems - V_residual, V_runs, V_problems and V_residual. This cuts the
    components at 0: if V_problems is below V_residual, the problems' own component is estimated below 0, and with 0
    instead the sum is V_runs. The same holds for the runs, and with both cut the sum is V_residual. The degrees of
    freedom are Satterthwaite's for the mean squares in the chosen variance, at most `df_per_run` (runs - 1). The limit
    is there because few runs that are alike by chance make V_runs small; Satterthwaite's number then jumps from that of
    the runs to that of the problems. The limits for differences and levels are from simulations (docs/statistics.md).

    There is one block per benchmark, of shape (..., runs, problems of the benchmark), finite; all have the same weight,
    whatever their size. For a comparison they are the differences, paired by seed and problem. The estimate is of shape
    (...). With one run, a benchmark of one problem, or a variance of 0 there is no interval.
    """
    mean, v_runs, problems, residual = variance_parts(blocks)
    free_runs = max(blocks[0].shape[-2] - 1, 1)  # with one run or problem the parts are NaN: any divisor will do
    free = np.array([max(block.shape[-1] - 1, 1) for block in blocks]).reshape(-1, *[1] * mean.ndim)
    v_problems, v_residual = problems.sum(axis=0), residual.sum(axis=0)
    by_runs = v_runs**2 / free_runs
    by_problems = (problems**2 / free).sum(axis=0)
    by_residual = (residual**2 / (free_runs * free)).sum(axis=0)
    variances = np.stack([v_runs + v_problems - v_residual, v_runs, v_problems, v_residual])
    squares = np.stack([by_runs + by_problems + by_residual, by_runs, by_problems, by_residual])
    # the first variance that equals the largest: rounding must not choose the degrees of freedom among equal ones
    chosen = (variances >= (1 - EQUAL) * variances.max(axis=0)).argmax(axis=0)[None]
    variance, square = (np.take_along_axis(a, chosen, axis=0)[0] for a in (variances, squares))
    scale = max(float(np.abs(block).max()) for block in blocks)
    df = np.minimum(satterthwaite(variance, square), df_per_run * free_runs)
    return student(mean, variance, df, scale=scale)


def two_way_level(blocks: Sequence[Floats]) -> Estimate:
    """:func:`two_way` for a level: shares, with limits within 0 and 1 and the degrees of freedom for levels."""
    return two_way(blocks, LEVEL_DF).of_share()


def over_clusters(blocks: Sequence[Floats], clusters: Sequence[NDArray[np.object_]], across: bool = False) -> Estimate:
    """:func:`over_problems`, shape (), for problems that depend on each other within a cluster: translations, a family.

    The variance of a benchmark's mean over P problems in C clusters is C / (C - 1) times the sum of its clusters'
    squared sums of deviations, over P^2 (Liang and Zeger 1986; Miller 2024, arXiv:2411.00640, section 2.2), with C - 1
    degrees of freedom. With clusters of one problem it is the variance that :func:`over_problems` uses.

    Args:
        blocks: the values of each benchmark, shape (problems,).
        clusters: for each benchmark the cluster of every problem, shape (problems,).
        across: a name is the same cluster in every benchmark, as for translations that are benchmarks of their own.
            The variance is then taken over the clusters of all benchmarks together.
    """
    mean = float(np.mean([array.mean() for array in blocks]))
    scale = max(float(np.abs(array).max()) for array in blocks)
    shares = [(array - array.mean()) / (array.size * len(blocks)) for array in blocks]  # of the mean's deviation
    if across:
        shares, clusters = [np.concatenate(shares)], [np.concatenate(clusters)]
    parts, free = np.full((2, len(shares)), np.nan)
    for place, (array, names) in enumerate(zip(shares, clusters, strict=True)):
        _, members = np.unique(names, return_inverse=True)
        sums = np.bincount(members, array)
        free[place] = sums.size - 1
        if free[place]:
            parts[place] = sums.size / free[place] * np.square(sums).sum()
    variance = parts.sum()
    return student(mean, variance, satterthwaite(variance, (parts**2 / np.maximum(free, 1)).sum()), scale=scale)


def wilson(values: ArrayLike) -> Estimate:
    """Wilson's (1927) interval of a share, where each problem was sampled once and is right or wrong.

    With more samples per problem the problems are not yes-or-no trials: use :func:`over_problems`. `values` are 0 or 1,
    shape (..., problems); others are a ValueError. The standard error and the degrees of freedom are NaN.
    """
    trials = np.asarray(values, dtype=np.float64)
    if trials.ndim == 0 or trials.size == 0 or not np.isin(trials, (0, 1)).all():
        raise ValueError("Wilson's interval needs one yes or no (1 or 0) of each problem: one sample a problem")
    low, high = proportion_confint(trials.sum(axis=-1), trials.shape[-1], alpha=1 - LEVEL, method="wilson")
    mean = trials.mean(axis=-1)
    none = np.full(mean.shape, np.nan)
    return Estimate(mean, none, none.copy(), np.asarray(low), np.asarray(high))
