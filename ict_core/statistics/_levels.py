"""The level of every method with its intervals, for new problems and for these, and where its variance comes from."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ict_core.statistics._arms import Arm, Arms, Counts, VariantsByModel, common_seeds, difference, each_arm
from ict_core.statistics._intervals import (
    ROUNDING,
    Estimate,
    Floats,
    over_problems,
    over_runs,
    two_way_level,
    variance_parts,
    wilson,
)
from ict_core.statistics._metrics import sampling_variance
from ict_core.statistics._schemas import AVERAGE, BASE, BASE_MODEL, COMPONENTS, GAIN, LEVELS, RERUN, SOURCES_OF_VARIANCE


def _interval(arm: Arm, benchmark: str, one_sample: bool) -> tuple[Estimate, str]:
    """The interval for new problems and how it was made, one of `INTERVALS`."""
    blocks = arm.of(benchmark)
    if len(arm.seeds) > 1:
        level, name = two_way_level(blocks), "two-way"
    elif one_sample and benchmark != AVERAGE:
        level, name = wilson(blocks[0][0]), "wilson"
    else:
        level, name = over_problems([block[0] for block in blocks]).of_share(), "problems"
    return level, "none" if np.isnan(level.low) else name


def _over_base(arm: Arm, base: Arm | None) -> Arm | None:
    """A trained arm less the base models with which its runs began; None of a base model, or without one.

    Both are :meth:`Arm.by_base`. A single base model stands against every run.
    """
    if base is None or arm is base:
        return None
    numbers = [0] * len(arm.seeds) if len(base.seeds) == 1 else [base.seeds.index(seed) for seed in arm.seeds]
    paired = {name: block[numbers] for name, block in base.blocks.items()}
    return difference(arm, Arm(base.name, arm.seeds, paired))


def level_frame(
    arms: Mapping[str, Arms], variants_by_model: VariantsByModel, one_sample: frozenset[tuple[str, str, str]]
) -> pd.DataFrame:
    """A frame of `LEVELS`: those of every shown variant on every benchmark and their average, from each metric's arms.

    With several runs the interval is :func:`two_way_level`, with one run it is over problems, or Wilson's where every
    problem of a (model, variant, benchmark) has one graded sample, as in `one_sample`; "none" without spread. The gain
    is the difference from the base model, paired by it.
    """
    rows = []
    for model, variant, metric, arm in each_arm(arms, variants_by_model):
        over_base = _over_base(arm, arms[metric].get((model, BASE)))
        for benchmark in arm.benchmarks:
            level, interval = _interval(arm, benchmark, (model, variant, benchmark) in one_sample)
            seeds = over_runs(arm.runs(benchmark)).of_share()
            row = {
                "model": model,
                "variant": variant,
                "benchmark": benchmark,
                "metric": metric,
                "mean": float(level.mean),
                "low": float(level.low),
                "high": float(level.high),
                "df": float(level.df),
                "interval": interval,
                "seeds_low": float(seeds.low),
                "seeds_high": float(seeds.high),
                "seeds": len(arm.seeds),
                "problems": sum(block.shape[1] for block in arm.of(benchmark)),
            }
            if over_base is not None:
                gain = over_runs(over_base.runs(benchmark)).of_difference()
                row |= dict(zip(GAIN, map(float, (gain.mean, gain.low, gain.high)), strict=True))
            rows.append(row)
    return pd.DataFrame(rows, columns=list(LEVELS))


def sampling_of(counts: Mapping[tuple[str, str, str], Counts], metric: str) -> dict[tuple[str, str, str], float]:
    """The sampling variance of one value (a run on a problem) of each (model, variant, benchmark).

    A mean over the values with at least twice the graded samples that the metric needs; NaN where there is none.
    """
    means = {}
    for key, count in counts.items():
        variance = sampling_variance(metric, count.n, count.correct)
        valid = ~np.isnan(variance)
        means[key] = float(variance.mean(where=valid)) if valid.any() else float("nan")
    return means


def _cut(squares: Sequence[float]) -> Floats:
    """The values with those below 0, or next to nothing beside the others, at 0; NaN stays."""
    values = np.asarray(squares)
    return np.where(values < ROUNDING * np.nansum(np.maximum(values, 0)), 0.0, values)


def base_variance(runs: Floats, per_base: int) -> tuple[float, float]:
    """The variances of a run's mean between base models, and between runs that began with one of them.

    By expected mean squares (Searle, Casella and McCulloch 1992, chapter 3), from the means of runs, shape (base models
    * n,), the n of each base model together: (MS_between - MS_within) / n, cut at 0, and MS_within. NaN where there is
    one base model, or one run of each.
    """
    groups = runs.reshape(-1, per_base)
    if min(groups.shape) < 2:
        return float("nan"), float("nan")
    within = float(groups.var(axis=1, ddof=1).mean())
    between = per_base * float(groups.mean(axis=1).var(ddof=1))
    return max(0.0, (between - within) / per_base), within


def components(
    blocks: Sequence[Floats], sampling: Sequence[float], per_base: int = 1
) -> tuple[list[float], list[float]]:
    """Standard deviation and contribution of each of `SOURCES_OF_VARIANCE`, by the two-way random model.

    A benchmark's components are the estimates by expected mean squares: with V_residual = MS_residual / (S P),
    the seed's is S (V_runs - V_residual), the problem's P (V_problems - V_residual), seed x problem is MS_residual less
    the sampling variance. Over B benchmarks the seed's is that of the run's effect on the average; the standard
    deviations of the others are root mean squares over the benchmarks. An estimate below 0 is cut at 0, after the
    benchmarks are summed. Where the sampling of some benchmark is not known, all of it stays within seed x problem.

    Args:
        blocks: as of `two_way`, each of shape (runs, problems of the benchmark), at least two of each.
        sampling: the sampling variance of one value in each benchmark; NaN: not known.
        per_base: runs that began with each base model and stand together. Above 1 a last source follows, what lies
            between base models, and the seed's is what lies between runs of one of them (:func:`base_variance`).

    Returns:
        the standard deviations, in the values' unit, and the contributions to the variance of the mean, in its square.
    """
    parts = variance_parts(blocks)
    runs, sizes = parts.sizes
    weight = len(blocks) ** 2
    drawn = np.asarray(sampling, dtype=np.float64)
    drawn = np.where(np.isnan(drawn).any(), np.nan, drawn)
    rest = parts.residual * weight * runs * sizes - np.where(np.isnan(drawn), 0.0, drawn)
    means = np.mean([block.mean(axis=-1) for block in blocks], axis=0)
    between, within = base_variance(means, per_base) if per_base > 1 else (0.0, float(parts.runs) * runs)
    seed = within / runs - parts.residual.sum()
    problem = parts.problems - parts.residual
    values = weight * runs * sizes
    contributions = [float(seed), *(float(v.sum()) for v in (problem, rest / values, drawn / values))]
    squares = [float(seed) * runs, *(float(v.mean()) for v in (problem * weight * sizes, rest, drawn))]
    if per_base > 1:
        contributions, squares = [*contributions, between * per_base / runs], [*squares, between]
    return np.sqrt(_cut(squares)).tolist(), _cut(contributions).tolist()


def rerun_variance(arm: Arm, rerun: Arm, benchmark: str) -> float:
    """The variance of a run's mean between two runs with the same seed and random numbers: half the mean square gap."""
    return float(np.square(difference(*common_seeds(arm, rerun)).runs(benchmark)).mean() / 2)


def component_frame(
    arms: Mapping[str, Arms],
    sampling: Mapping[str, Mapping[tuple[str, str, str], float]],
    variants_by_model: VariantsByModel,
    reruns: Mapping[str, str],
    seeds_per_base: int | None = None,
) -> pd.DataFrame:
    """The components of every shown trained variant with at least two runs: a frame of `COMPONENTS`.

    From the arms, and what :func:`sampling_of` gave, of each metric. A benchmark of one problem gives NaN. One with the
    same variant and random numbers again in `reruns` has the source `RERUN` as well, a part of the seed's contribution.
    Where several runs began with each of several base models, what lies between these is a source of its own,
    `BASE_MODEL`, and the seed's is what remains between runs.
    """
    rows: list[tuple[str | float, ...]] = []
    per_base = seeds_per_base or 1
    sources = (*SOURCES_OF_VARIANCE, BASE_MODEL) if per_base > 1 else SOURCES_OF_VARIANCE
    for model, variant, metric, arm in each_arm(arms, variants_by_model):
        if variant == BASE or len(arm.seeds) < 2:
            continue
        rerun = arms[metric].get((model, reruns.get(variant, "")))
        for benchmark in arm.benchmarks:
            key = (model, variant, benchmark, metric)
            drawn = [sampling[metric][model, variant, name] for name in arm.names_of(benchmark)]
            sds, contributions = components(arm.of(benchmark), drawn, per_base)
            rows += [(*key, *row) for row in zip(sources, sds, contributions, strict=True)]
            if rerun is not None:
                variance = rerun_variance(arm, rerun, benchmark)
                rows.append((*key, RERUN, variance**0.5, variance / len(arm.seeds)))
    return pd.DataFrame(rows, columns=list(COMPONENTS))
