"""Second views of one comparison: what other common methods say, each with its measured coverage beside it.

With 3 to 10 runs a percentile bootstrap is too narrow (docs/statistics.md). It is shown because readers know it, and
decides nothing. The aggregates, over runs x benchmarks, are those of Agarwal et al. 2021 (arXiv:2108.13264). Their
bootstrap resamples the runs of every benchmark on their own. That fits an agent trained anew for every task; here one
run is evaluated on all benchmarks, so that a good run is good everywhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from ict_core.statistics._deciding import p_of_sign_flip
from ict_core.statistics._intervals import LEVEL, ROUNDING, Floats, check_level, welch, without_spread
from ict_core.statistics._permutation import sign_flip_floor, signed_rank, two_sample, two_sample_floor
from ict_core.statistics._schemas import VIEWS
from ict_core.statistics.calibrated import coverage

RESAMPLES = 1000
TRIMMED = 0.25  # share cut at either end


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
    """How often each of `size` things is drawn when `size` are drawn with return, shape (resamples, size)."""
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
    A block is a benchmark's scores, or differences paired by seed, of shape (..., runs, problems). The leading
    dimensions are a batch whose members share the counts that the generator draws. No block, an empty one, different
    numbers of runs, or fewer than 2 resamples are a ValueError.
    """
    if not blocks or len({b.shape[:-1] for b in blocks}) != 1 or any(b.ndim < 2 or b.size == 0 for b in blocks):
        needs = "at least one benchmark and the same runs on every benchmark, shape (runs, problems) each"
        raise ValueError(f"a crossed bootstrap needs {needs}, not {[b.shape for b in blocks]}")
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
    """Mean of all runs' scores on all benchmarks, shape (..., runs, benchmarks), a quarter being cut at either end."""
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
    statistic: Callable[[Floats, Floats], Floats],
    ours: Floats,
    theirs: Floats,
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Bootstrapped:
    """Percentile interval of a comparison of two arms; runs are resampled within each benchmark and arm on their own.

    The statistic is over the last two dimensions of either arm, shape (..., its runs, benchmarks); the leading ones are
    a batch whose members share the draws. An arm without runs, arms of different benchmarks, or fewer than 2 resamples
    are a ValueError.
    """
    if ours.shape[-1] != theirs.shape[-1] or 0 in ours.shape or 0 in theirs.shape:
        needs = "at least one run each and the same benchmarks, shape (runs, benchmarks)"
        raise ValueError(f"two arms need {needs}, not {ours.shape} and {theirs.shape}")
    benchmark = np.arange(ours.shape[-1])

    def resample(arm: Floats) -> Floats:
        drawn = generator.integers(0, arm.shape[-2], (resamples, *arm.shape[-2:]))
        return arm[..., drawn, benchmark]

    return percentile(statistic(ours, theirs), statistic(resample(ours), resample(theirs)), level)


Row = dict[str, str | float]
AGGREGATES = {"probability of improvement": probability_of_improvement, "interquartile mean": interquartile_difference}


class Contrast(NamedTuple):
    """Whose second views are taken: variant - baseline of a model, under a metric."""

    model: str
    variant: str
    baseline: str
    metric: str


def _tests(ours: Floats, theirs: Floats, generator: np.random.Generator) -> dict[str, Row]:
    """p and its floor of the exact tests of two arms' runs, shape (seeds,); no p with one seed."""
    gaps, seeds = ours - theirs, ours.size
    tests = {
        "sign-flip": (sign_flip_floor(seeds), lambda: p_of_sign_flip(gaps)),
        "permutation": (two_sample_floor(seeds, seeds), lambda: two_sample(ours, theirs, generator)),
        "wilcoxon": (sign_flip_floor(seeds), lambda: signed_rank(gaps, generator)),
    }
    return {view: {"p": float(p()) if seeds > 1 else np.nan, "p_floor": floor} for view, (floor, p) in tests.items()}


def second_views(
    contrast: Contrast,
    ours: Sequence[Floats],
    theirs: Sequence[Floats],
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
) -> list[Row]:
    """One row of `VIEWS` a view of a contrast on the average of the benchmarks.

    The exact tests have p and its floor, the others an interval. Nothing but the mean differences exists with one
    seed. The estimate is the mean difference, but for the probability of improvement (0.5: no difference) and the
    difference of interquartile means. The variant's scores are `ours`, the baseline's `theirs`: one array (seeds,
    problems) a benchmark, shares, finite, paired by seed and problem; arrays that do not fit are a ValueError.
    """
    shapes = [[a.shape for a in arm] for arm in (ours, theirs)]
    if not ours or shapes[0] != shapes[1] or len({a.shape[0] for a in ours if a.ndim == 2}) != 1:
        raise ValueError(
            f"{contrast.model}: {contrast.variant} against {contrast.baseline}: second views need the same seeds and "
            f"problems in both arms, one array (seeds, problems) a benchmark, not {shapes[0]} and {shapes[1]}"
        )
    a, b = (np.stack([block.mean(axis=1) for block in arm], axis=1) for arm in (ours, theirs))  # (seeds, benchmarks)
    a_runs, b_runs = a.mean(axis=1), b.mean(axis=1)
    seeds, problems = a_runs.size, [block.shape[1] for block in ours]
    unpaired = welch(a_runs, b_runs).of_difference()
    views = _tests(a_runs, b_runs, generator)
    views["welch"] = {"low": float(unpaired.low), "high": float(unpaired.high), "p": float(unpaired.p)}
    views["crossed bootstrap"] = {}
    if seeds > 1:
        crossed = crossed_bootstrap([x - y for x, y in zip(ours, theirs, strict=True)], generator, resamples)
        views["crossed bootstrap"] = {"low": float(crossed.low), "high": float(crossed.high)}
    for view, statistic in AGGREGATES.items():
        views[view] = {"estimate": float(statistic(a, b))}
        if seeds > 1:
            resampled = stratified_bootstrap(statistic, a, b, generator, resamples)
            views[view] |= {"low": float(resampled.low), "high": float(resampled.high)}
    gap = float((a_runs - b_runs).mean())
    common: Row = {**dict.fromkeys(VIEWS, np.nan), **contrast._asdict(), "estimate": gap}
    return [
        common | {"view": view, "coverage": coverage(view, problems, seeds)} | values for view, values in views.items()
    ]
