"""From problems to runs: the frame with one value a run, and which of its arms are shown.

A frame of runs is one of `schemas.RUNS`, one row a (model, variant, seed, benchmark, metric); the benchmark
:data:`AVERAGE` is the macro-average.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from ict_core.errors import UserError
from ict_core.statistics import names
from ict_core.statistics.arms import Arms, arms_of
from ict_core.statistics.matrix import cell_name, count_matrices
from ict_core.statistics.metrics import metrics_of, samples_needed
from ict_core.statistics.names import AVERAGE, BASE, CELL
from ict_core.statistics.schemas import RUNS

__all__ = ["AVERAGE", "BASE", "CELL", "check_samples", "frame_of_arms", "run_frame", "shown_variants"]


def check_samples(scores: pd.DataFrame, metrics: Sequence[str]) -> None:
    """Of every problem samples enough for every metric were drawn, and at least one of them was graded.

    Args:
        scores: a frame of `records.SCORES`.
        metrics: names, at least one.

    Raises:
        UserError: a problem with too few samples (its cell and the metric are named), or an unknown metric.
    """
    metric = max(metrics, key=samples_needed)
    for short, fault in (
        (scores["sampled"] < samples_needed(metric), f"{{sampled}} samples are too few for {metric}; draw more"),
        (scores["n"] < 1, "none of {sampled} samples could be graded; mend the grading"),
    ):
        if short.any():
            row = scores[short].iloc[0]
            told = fault.format(sampled=row["sampled"])
            raise UserError(f"scores: {cell_name(row)}, problem {row['problem']} of {row['benchmark']}: {told}")


def frame_of_arms(arms: Mapping[str, Arms]) -> pd.DataFrame:
    """The frame of runs from the arms of each metric."""
    rows = [
        (*key, seed, benchmark, metric, value)
        for metric, of_metric in arms.items()
        for key, arm in of_metric.items()
        for benchmark in arm.benchmarks
        for seed, value in zip(arm.seeds, arm.runs(benchmark).tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=list(RUNS))


def run_frame(scores: pd.DataFrame, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """Every metric of every run on every benchmark and on their macro-average.

    Problems are averaged within a benchmark, then benchmarks within a run. Only graded samples count (`n`): an
    ungraded one is neither right nor wrong, and of a problem with n < k of them pass@n stands for pass@k.

    Args:
        scores: a frame of `records.SCORES`.
        metrics: the metrics wanted, at least one; by default all of `metrics_of(scores)`.

    Returns:
        A frame of `schemas.RUNS`; models, variants and benchmarks in the order of `scores`, the average last.

    Raises:
        UserError: no rows, a cell that lacks a problem (named) or has it twice, a problem with too few samples or none
            graded (named), or an unknown metric.
    """
    counts = count_matrices(scores)
    wanted = list(metrics) if metrics is not None else metrics_of(scores)
    check_samples(scores, wanted)
    return frame_of_arms({metric: arms_of(counts, metric) for metric in wanted})


def shown_variants(frame: pd.DataFrame, model: str, variants: Sequence[str]) -> list[str]:
    """The variants that a model ran, in the order in which they are shown: base first, then as given.

    Args:
        frame: scores or runs. A study may run a variant on some of its models only.

    Raises:
        UserError: a variant that no model ran.
    """
    absent = sorted(set(variants) - {BASE} - set(frame["variant"].unique()))
    if absent:
        raise UserError(f"scores: no run of {', '.join(absent)}; run the cells or take the variant out of the study")
    return names.shown_variants(frame, model, variants)
