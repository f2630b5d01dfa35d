"""From problems to runs: the frame with one value a run, and which of its arms are shown."""

from collections.abc import Mapping, Sequence

import pandas as pd

from ict_core.errors import UserError
from ict_core.statistics import _names as names
from ict_core.statistics._arms import Arms, arms_of, count_matrices
from ict_core.statistics._metrics import metrics_of, samples_needed
from ict_core.statistics._schemas import RUNS


def check_samples(scores: pd.DataFrame, metrics: Sequence[str]) -> None:
    """Of every problem samples enough for every metric (one or more) were drawn, and at least one of them was graded.

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
            raise UserError(f"scores: {names.cell_name(row)}, problem {row['problem']} of {row['benchmark']}: {told}")


def frame_of_arms(arms: Mapping[str, Arms]) -> pd.DataFrame:
    """The frame of runs, `schemas.RUNS`, from the arms of each metric."""
    rows = [
        (*key, seed, benchmark, metric, value)
        for metric, by_variant in arms.items()
        for key, arm in by_variant.items()
        for benchmark in arm.benchmarks
        for seed, value in zip(arm.seeds, arm.runs(benchmark).tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=list(RUNS))


def run_frame(scores: pd.DataFrame, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """Every metric of every run on every benchmark and on their macro-average.

    Problems are averaged within a benchmark, then benchmarks within a run. Only graded samples count (`n`): an
    ungraded one is neither right nor wrong, and of a problem with n < k of them pass@n stands for pass@k.

    Args:
        scores: a frame of `records.SCORES`; errors as of `count_matrices` and :func:`check_samples`.
        metrics: the metrics wanted, at least one; by default all of `metrics_of(scores)`.

    Returns:
        A frame of `schemas.RUNS`; models, variants and benchmarks in the order of `scores`, the average last.
    """
    counts = count_matrices(scores)
    wanted = list(metrics) if metrics is not None else metrics_of(scores)
    check_samples(scores, wanted)
    return frame_of_arms({metric: arms_of(counts, metric) for metric in wanted})


def shown_variants(frame: pd.DataFrame, model: str, variants: Sequence[str]) -> list[str]:
    """`names.shown_variants`, which refuses a variant that no model of the frame ran (UserError)."""
    absent = sorted(set(variants) - {names.BASE} - set(frame["variant"].unique()))
    if absent:
        raise UserError(f"scores: no run of {', '.join(absent)}; run the cells or take the variant out of the study")
    return names.shown_variants(frame, model, variants)
