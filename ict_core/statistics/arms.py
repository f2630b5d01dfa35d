"""Arms: the values of all runs of one model with one variant, made from the scores, paired by seed and problem."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ict_core.errors import UserError
from ict_core.statistics.metrics import covers, metric_values, metrics_of, samples_needed
from ict_core.statistics.pairing import place_of
from ict_core.statistics.schemas import AVERAGE, RUNS
from ict_core.store.layout import cell_folder

_ORDERED = ("model", "variant", "benchmark", "problem")  # columns whose values stay in order of appearance


@dataclass(frozen=True)
class Counts:
    """How many samples the runs of one model with one variant got right on one benchmark."""

    seeds: tuple[int, ...]  # the runs' seeds, ascending
    n: NDArray[np.int64]  # samples graded, shape (seeds, problems), problems in the order of the scores
    correct: NDArray[np.int64]  # samples correct, shape (seeds, problems)


def count_matrices(scores: pd.DataFrame) -> dict[tuple[str, str, str], Counts]:
    """The counts by (model, variant, benchmark), keys in the order in which their values first appear in the scores.

    `scores` is a frame of `records.SCORES`, with rows in any order and each problem of a cell once. A UserError if it
    has no rows, or if a cell lacks a problem that another cell of its model has; the message names both.
    """
    if scores.empty:
        raise UserError("scores: no rows; evaluate at least one cell")
    ordered = scores.assign(**{name: pd.Categorical(scores[name], scores[name].unique()) for name in _ORDERED})
    counts = {}
    for model, rows in ordered.groupby("model", sort=False, observed=True):
        by_cell = rows.set_index(["variant", "seed", "benchmark", "problem"])[["n", "correct"]]
        n, correct = (by_cell[name].unstack(["benchmark", "problem"]) for name in by_cell)
        missing = n.isna()
        if missing.any(axis=None):
            row, column = np.argwhere(missing.to_numpy())[0]
            (variant, seed), (benchmark, problem) = missing.index[row], missing.columns[column]
            raise UserError(
                f"scores: {cell_folder(str(model), variant, seed)} lacks problem {problem} of {benchmark}, which other "
                "cells of its model have; evaluate it again"
            )
        for variant in n.index.unique("variant"):
            for benchmark in n.columns.unique("benchmark"):
                graded, right = n.loc[variant, benchmark], correct.loc[variant, benchmark]
                seeds = tuple(map(int, graded.index))
                matrix = Counts(seeds, graded.to_numpy(np.int64), right.to_numpy(np.int64))
                counts[str(model), str(variant), str(benchmark)] = matrix
    return counts


@dataclass(frozen=True)
class Arm:
    """One metric's values, or differences of them, for the runs of one model with one variant."""

    name: str  # model/variant, for messages
    seeds: tuple[int, ...]  # the runs' seeds, ascending
    blocks: Mapping[str, NDArray[np.float64]]  # by benchmark: shares, shape (seeds, problems of the benchmark)
    averaged: Collection[str] | None = None  # the benchmarks that the average is over; None: all

    @property
    def benchmarks(self) -> list[str]:
        """The benchmarks and, last, their average."""
        return [*self.blocks, AVERAGE]

    def only(self, seeds: tuple[int, ...]) -> "Arm":
        """The same arm with the runs of these seeds alone."""
        rows = [self.seeds.index(seed) for seed in seeds]
        return replace(self, seeds=seeds, blocks={name: block[rows] for name, block in self.blocks.items()})

    def of(self, benchmark: str) -> list[NDArray[np.float64]]:
        """The blocks that enter a benchmark's mean: its own block, or the blocks of all averaged benchmarks."""
        return [block for name, block in self.blocks.items() if covers(benchmark, name, self.averaged)]

    def runs(self, benchmark: str) -> NDArray[np.float64]:
        """The mean of each run, shape (seeds,): over problems, then over benchmarks for the average."""
        return np.asarray(np.mean([block.mean(axis=1) for block in self.of(benchmark)], axis=0))


Arms = dict[tuple[str, str], Arm]  # by model and variant
VariantsByModel = Mapping[str, list[str]]  # each model's variants in the order in which they are shown


def arms_of(
    counts: Mapping[tuple[str, str, str], Counts],
    metric: str,
    averaged: Collection[str] | None = None,
    of_counts: Callable[[str, ArrayLike, ArrayLike], NDArray[np.float64]] = metric_values,
) -> Arms:
    """One metric's arms by (model, variant), in the order of `counts`; values and errors are those of `of_counts`."""
    blocks: dict[tuple[str, str], dict[str, NDArray[np.float64]]] = {}
    seeds: dict[tuple[str, str], tuple[int, ...]] = {}
    for (model, variant, benchmark), matrix in counts.items():
        blocks.setdefault((model, variant), {})[benchmark] = of_counts(metric, matrix.n, matrix.correct)
        seeds[model, variant] = matrix.seeds
    return {key: Arm("/".join(key), seeds[key], by_benchmark, averaged) for key, by_benchmark in blocks.items()}


def difference(ours: Arm, theirs: Arm) -> Arm:
    """ours - theirs, paired by seed and problem, for arms of one model and metric with the same seeds."""
    blocks = {name: block - theirs.blocks[name] for name, block in ours.blocks.items()}
    return replace(ours, name=f"{ours.name} - {theirs.name}", blocks=blocks)


def check_samples(scores: pd.DataFrame, metrics: Sequence[str]) -> None:
    """Check that every problem has enough samples for all metrics (one or more), and at least one graded sample.

    Otherwise a UserError names the first problem at fault and its cell and, if the samples are too few, the metric.
    """
    metric = max(metrics, key=samples_needed)
    for short, fault in (
        (scores["sampled"] < samples_needed(metric), f"samples are too few for {metric}; draw more"),
        (scores["n"] < 1, "samples, of which none could be graded; mend the grading"),
    ):
        if short.any():
            row = scores[short].iloc[0]
            raise UserError(f"scores: {place_of(row)}: {row['sampled']} {fault}")


def frame_of_arms(arms: Mapping[str, Arms]) -> pd.DataFrame:
    """A frame of `statistics.schemas.RUNS`, from the arms of each metric."""
    rows = [
        (*key, seed, benchmark, metric, value)
        for metric, by_variant in arms.items()
        for key, arm in by_variant.items()
        for benchmark in arm.benchmarks
        for seed, value in zip(arm.seeds, arm.runs(benchmark).tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=list(RUNS))


def run_frame(
    scores: pd.DataFrame, metrics: Sequence[str] | None = None, averaged: Collection[str] | None = None
) -> pd.DataFrame:
    """A frame of `RUNS`: every metric of every run on every benchmark and on their macro-average.

    Problems are averaged within a benchmark, then benchmarks within a run. Only graded samples count (`n`): an
    ungraded sample is neither right nor wrong. On a problem with n < k graded samples, pass@n replaces pass@k.

    `scores` is a frame of `records.SCORES`, whose order of models, variants and benchmarks is kept; the average comes
    last and is over the benchmarks `averaged`, by default all. The metrics are by default all of `metrics_of`. Errors
    are those of :func:`count_matrices` and :func:`check_samples`.
    """
    counts = count_matrices(scores)
    chosen = list(metrics) if metrics is not None else metrics_of(scores)
    check_samples(scores, chosen)
    return frame_of_arms({metric: arms_of(counts, metric, averaged) for metric in chosen})
