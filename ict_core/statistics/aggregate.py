"""Aggregates over runs x benchmarks in the manner of Agarwal et al. 2021 (arXiv:2108.13264): a second view.

Their bootstrap is stratified: the runs of every benchmark are resampled on their own. That fits an agent trained anew
for every task. Here one training run is evaluated on all benchmarks, so that a good run is good everywhere and the
interval comes out too narrow; docs/statistics.md gives its measured coverage.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ict_core.statistics.bootstrap import RESAMPLES, Bootstrapped, percentile
from ict_core.statistics.intervals import LEVEL, ROUNDING

Statistic = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
TRIMMED = 0.25  # share cut at either end


def interquartile_mean(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the middle half of all runs' scores on all benchmarks.

    A quarter of the values, rounded down, is cut at either end (`scipy.stats.trim_mean`).

    Args:
        scores: shape (..., runs, benchmarks), shares.

    Returns:
        Shares, shape (...).
    """
    return np.asarray(stats.trim_mean(scores.reshape(*scores.shape[:-2], -1), TRIMMED, axis=-1))


def interquartile_difference(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ours minus theirs of :func:`interquartile_mean`, shape (...)."""
    return interquartile_mean(ours) - interquartile_mean(theirs)


def probability_of_improvement(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Chance that a run of ours beats a run of theirs: P(X > Y) + P(X = Y) / 2, averaged over benchmarks.

    On one benchmark this is the Mann-Whitney U over the number of pairs of runs. Scores closer than rounding are
    equal.

    Args:
        ours: shape (..., runs, benchmarks).
        theirs: shape (..., their runs, benchmarks).

    Returns:
        Shares in [0, 1], shape (...); 0.5 where neither is better.
    """
    wins = np.zeros(np.broadcast_shapes(ours.shape[:-2], theirs.shape[:-2]))
    for run in range(ours.shape[-2]):  # one after another: no memory for every pair of runs
        ahead = ours[..., run : run + 1, :] - theirs
        wins += (ahead > ROUNDING).sum(axis=(-2, -1)) + (np.abs(ahead) <= ROUNDING).sum(axis=(-2, -1)) / 2
    shares: NDArray[np.float64] = wins / (ours.shape[-2] * theirs.shape[-2] * ours.shape[-1])
    return shares


def stratified_bootstrap(
    statistic: Statistic,
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Bootstrapped:
    """Percentile interval of a comparison of two arms; runs are resampled within each benchmark and arm on their own.

    Args:
        statistic: of (ours, theirs), over their last two dimensions.
        ours: shape (..., runs, benchmarks). Leading dimensions are a batch whose members share the draws.
        theirs: shape (..., their runs, benchmarks).
        generator: draws the runs.
        resamples: how many.
        level: nominal coverage.

    Raises:
        ValueError: an arm without runs, arms of different benchmarks, or fewer than 2 resamples.
    """
    if ours.shape[-1] != theirs.shape[-1] or 0 in ours.shape or 0 in theirs.shape:
        raise ValueError(
            f"two arms need at least one run each and the same benchmarks, shape (runs, benchmarks), not {ours.shape} "
            f"and {theirs.shape}"
        )
    if resamples < 2:
        raise ValueError(f"a bootstrap needs at least 2 resamples, not {resamples}")
    benchmark = np.arange(ours.shape[-1])

    def resample(arm: NDArray[np.float64]) -> NDArray[np.float64]:
        drawn = generator.integers(0, arm.shape[-2], (resamples, *arm.shape[-2:]))
        return arm[..., drawn, benchmark]

    resampled = statistic(resample(ours), resample(theirs))
    return percentile(statistic(ours, theirs), resampled, level)
