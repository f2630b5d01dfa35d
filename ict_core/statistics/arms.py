"""Arms: what the runs of one model's variant gave, from the frame of scores to values paired by seed and problem."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ict_core.errors import UserError
from ict_core.statistics.metrics import covers, metric_values, metrics_of, samples_needed
from ict_core.statistics.pairing import place_of, shared_seeds
from ict_core.statistics.schemas import AVERAGE, RUNS
from ict_core.store.layout import cell_folder

_ORDERED = ("model", "variant", "benchmark", "problem")  # columns whose values keep the order in which they first come


@dataclass(frozen=True)
class Counts:
    """What a model's runs under one variant got right on one benchmark."""

    seeds: tuple[int, ...]  # of the runs, ascending
    n: NDArray[np.int64]  # samples graded, shape (seeds, problems), problems in the order of the scores
    correct: NDArray[np.int64]  # samples correct, shape (seeds, problems)


def count_matrices(scores: pd.DataFrame) -> dict[tuple[str, str, str], Counts]:
    """The counts of every (model, variant, benchmark), keys in the order in which the scores first show the values.

    Of a frame of `records.SCORES`, rows in any order, each problem of a cell once. No rows, or a cell that lacks a
    problem that another cell of its model has (named), are a UserError.
    """
    if scores.empty:
        raise UserError("scores: no rows; evaluate at least one cell")
    ordered = scores.assign(**{name: pd.Categorical(scores[name], scores[name].unique()) for name in _ORDERED})
    counts = {}
    for model, rows in ordered.groupby("model", sort=False, observed=True):
        by_cell = rows.set_index(["variant", "seed", "benchmark", "problem"])[["n", "correct"]]
        n, correct = (by_cell[name].unstack(["benchmark", "problem"]) for name in by_cell)
        lacking = n.isna()
        if lacking.any(axis=None):
            row, column = np.argwhere(lacking.to_numpy())[0]
            (variant, seed), (benchmark, problem) = lacking.index[row], lacking.columns[column]
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
    """Values of one metric, or differences of them, of a model's runs."""

    name: str  # model/variant, for messages
    seeds: tuple[int, ...]  # of the runs, ascending
    blocks: Mapping[str, NDArray[np.float64]]  # of each benchmark, shape (seeds, problems of the benchmark), shares
    averaged: Collection[str] | None = None  # the benchmarks that their average is over; None: all

    @property
    def benchmarks(self) -> list[str]:
        """The benchmarks and, last, their average."""
        return [*self.blocks, AVERAGE]

    def only(self, seeds: tuple[int, ...]) -> "Arm":
        """The runs of these seeds."""
        rows = [self.seeds.index(seed) for seed in seeds]
        return replace(self, seeds=seeds, blocks={name: block[rows] for name, block in self.blocks.items()})

    def of(self, benchmark: str) -> list[NDArray[np.float64]]:
        """The blocks that a benchmark's mean is over: its own, or those of the average."""
        return [block for name, block in self.blocks.items() if covers(benchmark, name, self.averaged)]

    def runs(self, benchmark: str) -> NDArray[np.float64]:
        """The mean of each run, shape (seeds,): over problems, then over benchmarks for the average."""
        return np.asarray(np.mean([block.mean(axis=1) for block in self.of(benchmark)], axis=0))


Arms = dict[tuple[str, str], Arm]  # by model and variant
VariantsByModel = Mapping[str, list[str]]  # of each model its variants in the order in which they are shown


def arms_of(
    counts: Mapping[tuple[str, str, str], Counts], metric: str, averaged: Collection[str] | None = None
) -> Arms:
    """The arms of every (model, variant) under one metric, in the order of `counts`; errors as of `metric_values`."""
    blocks: dict[tuple[str, str], dict[str, NDArray[np.float64]]] = {}
    seeds: dict[tuple[str, str], tuple[int, ...]] = {}
    for (model, variant, benchmark), matrix in counts.items():
        blocks.setdefault((model, variant), {})[benchmark] = metric_values(metric, matrix.n, matrix.correct)
        seeds[model, variant] = matrix.seeds
    return {key: Arm("/".join(key), seeds[key], by_benchmark, averaged) for key, by_benchmark in blocks.items()}


def common_seeds(ours: Arm, theirs: Arm) -> tuple[Arm, Arm]:
    """Both arms with the runs of the seeds that both have: a study may give an ablation fewer seeds than its method.

    Without a common seed there is a UserError.
    """
    shared = tuple(shared_seeds(ours.seeds, theirs.seeds))
    if not shared:
        raise UserError(
            f"a paired test needs common seeds: {ours.name} has {list(ours.seeds)}, {theirs.name} "
            f"{list(theirs.seeds)}; give them the same seeds"
        )
    return ours.only(shared), theirs.only(shared)


def difference(ours: Arm, theirs: Arm) -> Arm:
    """ours - theirs, paired by seed and problem; both are arms of one model and metric with :func:`common_seeds`."""
    blocks = {name: block - theirs.blocks[name] for name, block in ours.blocks.items()}
    return replace(ours, name=f"{ours.name} - {theirs.name}", blocks=blocks)


def check_samples(scores: pd.DataFrame, metrics: Sequence[str]) -> None:
    """Of every problem samples enough for every metric (one or more) were drawn, and at least one of them was graded.

    If not, a UserError names the first such problem, its cell and the metric.
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
    """The frame of runs, `statistics.schemas.RUNS`, from the arms of each metric."""
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
    """Every metric of every run on every benchmark and on their macro-average.

    Problems are averaged within a benchmark, then benchmarks within a run. Only graded samples count (`n`): an
    ungraded one is neither right nor wrong, and of a problem with n < k of them pass@n stands for pass@k.

    From a frame of `records.SCORES` (errors as of :func:`count_matrices` and :func:`check_samples`) and metrics, by
    default all of `metrics_of`, one of `RUNS`; models, variants and benchmarks in the order of `scores`, the average
    last; that is over the benchmarks `averaged`, by default over all.
    """
    counts = count_matrices(scores)
    wanted = list(metrics) if metrics is not None else metrics_of(scores)
    check_samples(scores, wanted)
    return frame_of_arms({metric: arms_of(counts, metric, averaged) for metric in wanted})
