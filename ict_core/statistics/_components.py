"""Where the variance of a level comes from: seeds, problems, seed x problem, and the sampling of answers.

Where a variant was trained again with the same random numbers, also what of the seeds' such a rerun makes alone.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ict_core.statistics._arms import Arm, Arms, Counts, Shown, common_seeds, difference, each_arm
from ict_core.statistics._intervals import ROUNDING, Floats
from ict_core.statistics._metrics import sampling_variance
from ict_core.statistics._names import AVERAGE, BASE
from ict_core.statistics._schemas import COMPONENTS, RERUN, SOURCES_OF_VARIANCE
from ict_core.statistics._two_way import variance_parts


def sampling_of(counts: Mapping[tuple[str, str, str], Counts], metric: str) -> dict[tuple[str, str, str], float]:
    """The sampling variance of one value (a run on a problem) of each (model, variant, benchmark).

    A mean over the values with at least twice the graded samples that the metric needs; NaN where there is none.
    """
    means = {}
    for key, count in counts.items():
        variance = sampling_variance(metric, count.n, count.correct)
        known = ~np.isnan(variance)
        means[key] = float(variance.mean(where=known)) if known.any() else float("nan")
    return means


def _cut(squares: Sequence[float]) -> Floats:
    """The values with those below 0, or next to nothing beside the others, at 0; NaN stays."""
    values = np.asarray(squares)
    return np.where(values < ROUNDING * np.nansum(np.maximum(values, 0)), 0.0, values)


def components(blocks: Sequence[Floats], sampling: Sequence[float]) -> tuple[list[float], list[float]]:
    """Standard deviation and contribution of each of `schemas.SOURCES_OF_VARIANCE`, by the two-way random model.

    A benchmark's components are the estimates by expected mean squares: with V_residual = MS_residual / (S P),
    the seed's is S (V_runs - V_residual), the problem's P (V_problems - V_residual), seed x problem is MS_residual less
    the sampling variance. Over B benchmarks the seed's is that of the run's effect on the average; the standard
    deviations of the others are root mean squares over the benchmarks. An estimate below 0 is cut at 0, after the
    benchmarks are summed. Where the sampling of some benchmark is not known, all of it stays within seed x problem.

    Args:
        blocks: as of `two_way`, each of shape (runs, problems of the benchmark), at least two of each.
        sampling: the sampling variance of one value in each benchmark, NaN where it is not known.

    Returns:
        The standard deviations, in the values' unit, and the contributions to the variance of the mean, in its square.
    """
    parts = variance_parts(blocks)
    runs, sizes = parts.sizes
    weight = len(blocks) ** 2
    drawn = np.asarray(sampling, dtype=np.float64)
    drawn = np.where(np.isnan(drawn).any(), np.nan, drawn)
    rest = parts.residual * weight * runs * sizes - np.where(np.isnan(drawn), 0.0, drawn)
    seed = parts.runs - parts.residual.sum()
    problem = parts.problems - parts.residual
    values = weight * runs * sizes
    contributions = [float(seed), *(float(v.sum()) for v in (problem, rest / values, drawn / values))]
    squares = [float(seed) * runs, *(float(v.mean()) for v in (problem * weight * sizes, rest, drawn))]
    return np.sqrt(_cut(squares)).tolist(), _cut(contributions).tolist()


def rerun_variance(arm: Arm, rerun: Arm, benchmark: str) -> float:
    """The variance of a run's mean between runs of one seed: the mean over seeds of half the squared difference.

    `rerun` is of the same variant trained again with the same random numbers.
    """
    return float(np.square(difference(*common_seeds(arm, rerun)).runs(benchmark)).mean() / 2)


def component_frame(
    arms: Mapping[str, Arms],
    sampling: Mapping[str, Mapping[tuple[str, str, str], float]],
    shown: Shown,
    reruns: Mapping[str, str],
) -> pd.DataFrame:
    """The components of every shown trained variant with at least two runs; others have nothing to split.

    One that was run again has the source :data:`RERUN` as well, whose contribution is a part of the seed's.

    Args:
        arms: of each metric; `sampling` what :func:`sampling_of` gave of each.
        shown: which variants.
        reruns: variant -> the variant that is the same with the same random numbers.

    Returns:
        A frame of `schemas.COMPONENTS`. A benchmark of one problem gives NaN.
    """
    rows: list[tuple[str | float, ...]] = []
    for model, variant, metric, arm in each_arm(arms, shown):
        if variant == BASE or len(arm.seeds) < 2:
            continue
        rerun = arms[metric].get((model, reruns.get(variant, "")))
        for benchmark in arm.benchmarks:
            key = (model, variant, benchmark, metric)
            averaged = list(arm.blocks) if benchmark == AVERAGE else [benchmark]
            sds, contributions = components(
                arm.of(benchmark), [sampling[metric][model, variant, name] for name in averaged]
            )
            rows += [(*key, *row) for row in zip(SOURCES_OF_VARIANCE, sds, contributions, strict=True)]
            if rerun is not None:
                variance = rerun_variance(arm, rerun, benchmark)
                rows.append((*key, RERUN, variance**0.5, variance / len(arm.seeds)))
    return pd.DataFrame(rows, columns=list(COMPONENTS))
