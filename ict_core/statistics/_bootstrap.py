"""Percentile bootstraps of a mean and of two aggregates: second views, never the deciding interval.

With 3 to 10 runs a percentile interval is too narrow (measured coverage: docs/statistics.md). It is shown because
readers know it, and its real coverage is shown beside it. The aggregates, over runs x benchmarks, are those of Agarwal
et al. 2021 (arXiv:2108.13264). Their bootstrap resamples the runs of every benchmark on their own. That fits an agent
trained anew for every task; here one run is evaluated on all benchmarks, so that a good run is good everywhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ict_core.statistics._intervals import LEVEL, ROUNDING, Floats, check_level, without_spread

RESAMPLES = 1000
TRIMMED = 0.25  # share cut at either end

Statistic = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Bootstrapped:
    """An estimate on the data themselves with its percentile limits, each of the batch's shape."""

    estimate: Floats
    low: Floats
    high: Floats


def percentile(estimate: Floats, resampled: Floats, level: float = LEVEL) -> Bootstrapped:
    """The percentile interval (Efron 1979) of an estimate, (...), from its values on the resamples, (..., resamples).

    None (NaN) where all resamples are equal, which says nothing about spread. A level outside (0, 1), or fewer than 2
    resamples, is a ValueError.
    """
    check_level(level)
    if resampled.shape[-1] < 2:
        raise ValueError(f"a bootstrap needs at least 2 resamples, not {resampled.shape[-1]}")
    limits = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    low, high = np.where(without_spread(resampled), np.nan, limits)
    return Bootstrapped(estimate, low, high)


def resampling_counts(generator: np.random.Generator, resamples: int, size: int) -> Floats:
    """How often each of `size` things is drawn when `size` are drawn with return, shape (resamples, size).

    Every row is one multinomial draw with equal probabilities and sums to `size`.
    """
    counts = np.empty((resamples, size))
    at_once = max(1, 30_000 // size)  # rows counted together: enough to be quick, few enough to stay in the cache
    for start in range(0, resamples, at_once):
        rows = counts[start : start + at_once]
        first = np.arange(len(rows))[:, None] * size
        drawn = generator.integers(0, size, rows.shape) + first
        rows[:] = np.bincount(drawn.ravel(), minlength=rows.size).reshape(rows.shape)
    return counts


def crossed_bootstrap(
    blocks: Sequence[Floats],
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    runs: bool = True,
    problems: bool = True,
) -> Bootstrapped:
    """The pigeonhole bootstrap (Owen 2007, doi:10.1214/07-AOAS122): runs and problems are resampled independently.

    A resample draws runs once for all benchmarks and problems within each benchmark, or takes them as they are where
    `runs` or `problems` is False; the estimate is the mean over runs and problems of a benchmark, then over benchmarks.

    Args:
        blocks: one array a benchmark, shape (..., runs, problems): scores, or differences of runs paired by seed.
            Leading dimensions are a batch whose members share the counts that the generator draws.

    Raises:
        ValueError: no block, blocks of different numbers of runs, an empty block, or fewer than 2 resamples.
    """
    if not blocks or len({b.shape[:-1] for b in blocks}) != 1 or any(b.ndim < 2 or b.size == 0 for b in blocks):
        raise ValueError(
            "a crossed bootstrap needs at least one benchmark and the same runs on every benchmark, shape (runs, "
            f"problems) each, not {[b.shape for b in blocks]}"
        )
    number = blocks[0].shape[-2]
    run_counts = resampling_counts(generator, resamples, number) if runs else np.ones((resamples, number))
    by_run = np.zeros((*blocks[0].shape[:-1], resamples))
    for block in blocks:
        if problems:
            problem_counts = resampling_counts(generator, resamples, block.shape[-1])
            summed = block.reshape(-1, block.shape[-1]) @ problem_counts.T  # one product, not one a batch member
            by_run += summed.reshape(by_run.shape) / block.shape[-1]
        else:
            by_run += block.mean(axis=-1)[..., None]
    resampled = np.einsum("...rb,br->...b", by_run, run_counts) / (number * len(blocks))
    return percentile(np.mean([b.mean(axis=(-2, -1)) for b in blocks], axis=0), resampled, level)


def interquartile_mean(scores: Floats) -> Floats:
    """Mean of the middle half of all runs' scores on all benchmarks, shape (..., runs, benchmarks) to (...).

    A quarter of the values, rounded down, is cut at either end (`scipy.stats.trim_mean`).
    """
    return np.asarray(stats.trim_mean(scores.reshape(*scores.shape[:-2], -1), TRIMMED, axis=-1))


def interquartile_difference(ours: Floats, theirs: Floats) -> Floats:
    """Ours minus theirs of :func:`interquartile_mean`, shape (...)."""
    return interquartile_mean(ours) - interquartile_mean(theirs)


def probability_of_improvement(ours: Floats, theirs: Floats) -> Floats:
    """Chance that a run of ours beats a run of theirs: P(X > Y) + P(X = Y) / 2, averaged over benchmarks.

    On one benchmark this is the Mann-Whitney U over the number of pairs of runs. Scores closer than rounding are
    equal. From shapes (..., runs, benchmarks) shares in [0, 1], shape (...); 0.5 where neither is better.
    """
    wins = np.zeros(np.broadcast_shapes(ours.shape[:-2], theirs.shape[:-2]))
    for run in range(ours.shape[-2]):  # one after another: no memory for every pair of runs
        ahead = ours[..., run : run + 1, :] - theirs
        wins += (ahead > ROUNDING).sum(axis=(-2, -1)) + (np.abs(ahead) <= ROUNDING).sum(axis=(-2, -1)) / 2
    shares: Floats = wins / (ours.shape[-2] * theirs.shape[-2] * ours.shape[-1])
    return shares


def stratified_bootstrap(
    statistic: Statistic,
    ours: Floats,
    theirs: Floats,
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Bootstrapped:
    """Percentile interval of a comparison of two arms; runs are resampled within each benchmark and arm on their own.

    Args:
        statistic: of (ours, theirs), over their last two dimensions.
        ours: shape (..., runs, benchmarks). Leading dimensions are a batch whose members share the draws.
        theirs: shape (..., their runs, benchmarks).

    Raises:
        ValueError: an arm without runs, arms of different benchmarks, or fewer than 2 resamples.
    """
    if ours.shape[-1] != theirs.shape[-1] or 0 in ours.shape or 0 in theirs.shape:
        raise ValueError(
            f"two arms need at least one run each and the same benchmarks, shape (runs, benchmarks), not {ours.shape} "
            f"and {theirs.shape}"
        )
    benchmark = np.arange(ours.shape[-1])

    def resample(arm: Floats) -> Floats:
        drawn = generator.integers(0, arm.shape[-2], (resamples, *arm.shape[-2:]))
        return arm[..., drawn, benchmark]

    return percentile(statistic(ours, theirs), statistic(resample(ours), resample(theirs)), level)
