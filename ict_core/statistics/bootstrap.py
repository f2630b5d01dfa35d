"""The percentile bootstrap of a mean over runs and problems: a second view, never the deciding interval.

With 3 to 10 runs a percentile interval is too narrow (measured coverage: docs/statistics.md). It is shown because
readers know it, and its real coverage is shown beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ict_core.statistics.intervals import LEVEL, check_level, without_spread

RESAMPLES = 1000


@dataclass(frozen=True)
class Bootstrapped:
    """An estimate on the data themselves with its percentile limits, each of the batch's shape."""

    estimate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def percentile(estimate: NDArray[np.float64], resampled: NDArray[np.float64], level: float = LEVEL) -> Bootstrapped:
    """The percentile interval (Efron 1979); none (NaN) where all resamples are equal: they say nothing about spread.

    Args:
        estimate: on the data, shape (...).
        resampled: on the resamples, shape (..., resamples).
        level: nominal coverage in (0, 1).

    Raises:
        ValueError: a level outside (0, 1).
    """
    check_level(level)
    limits = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    low, high = np.where(without_spread(resampled), np.nan, limits)
    return Bootstrapped(estimate, low, high)


def resampling_counts(generator: np.random.Generator, resamples: int, size: int) -> NDArray[np.float64]:
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
    blocks: Sequence[NDArray[np.float64]],
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    runs: bool = True,
    problems: bool = True,
) -> Bootstrapped:
    """The pigeonhole bootstrap (Owen 2007, doi:10.1214/07-AOAS122): runs and problems are resampled independently.

    A resample draws runs once for all benchmarks and problems within each benchmark; the estimate is the mean over
    runs and problems of a benchmark, then the mean over benchmarks. A resample is a set of counts that multiply the
    matrix; nothing is copied.

    Args:
        blocks: one array a benchmark, shape (..., runs, problems): scores, or differences of runs paired by seed.
            Leading dimensions are a batch whose members share the resampling counts.
        generator: draws the counts.
        resamples: how many.
        level: nominal coverage.
        runs: whether runs are resampled; if not, they are taken as they are.
        problems: likewise for problems.

    Raises:
        ValueError: no block, blocks of different numbers of runs, an empty block, or fewer than 2 resamples.
    """
    if not blocks or len({b.shape[:-1] for b in blocks}) != 1 or any(b.ndim < 2 or b.size == 0 for b in blocks):
        raise ValueError(
            "a crossed bootstrap needs at least one benchmark and the same runs on every benchmark, shape (runs, "
            f"problems) each, not {[b.shape for b in blocks]}"
        )
    if resamples < 2:
        raise ValueError(f"a bootstrap needs at least 2 resamples, not {resamples}")
    number = blocks[0].shape[-2]
    of_runs = resampling_counts(generator, resamples, number) if runs else np.ones((resamples, number))
    by_run = np.zeros((*blocks[0].shape[:-1], resamples))
    for block in blocks:
        if problems:
            of_problems = resampling_counts(generator, resamples, block.shape[-1])
            summed = block.reshape(-1, block.shape[-1]) @ of_problems.T  # one product, not one a batch member
            by_run += summed.reshape(by_run.shape) / block.shape[-1]
        else:
            by_run += block.mean(axis=-1)[..., None]
    resampled = np.einsum("...rb,br->...b", by_run, of_runs) / (number * len(blocks))
    estimate = np.mean([b.mean(axis=(-2, -1)) for b in blocks], axis=0)
    return percentile(estimate, resampled, level)
