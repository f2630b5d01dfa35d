"""An arm: the problem values of one metric of one model's variant, and the difference of two arms paired by seed."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ict_core.errors import UserError
from ict_core.statistics.matrix import Counts
from ict_core.statistics.metrics import metric_values
from ict_core.statistics.names import AVERAGE
from ict_core.statistics.pairing import shared_seeds


@dataclass(frozen=True)
class Arm:
    """Values of one metric, or differences of them, of a model's runs.

    Attributes:
        name: model/variant, for messages.
        seeds: of the runs, ascending.
        blocks: of each benchmark, shape (seeds, problems of the benchmark), shares.
    """

    name: str
    seeds: tuple[int, ...]
    blocks: Mapping[str, NDArray[np.float64]]

    @property
    def benchmarks(self) -> list[str]:
        """The benchmarks and, last, their average."""
        return [*self.blocks, AVERAGE]

    def of(self, benchmark: str) -> list[NDArray[np.float64]]:
        """The blocks that a benchmark's mean is over: its own, or all for the average."""
        return list(self.blocks.values()) if benchmark == AVERAGE else [self.blocks[benchmark]]

    def runs(self, benchmark: str) -> NDArray[np.float64]:
        """The mean of each run, shape (seeds,): over problems, then over benchmarks for the average."""
        return np.asarray(np.mean([block.mean(axis=1) for block in self.of(benchmark)], axis=0))


Arms = dict[tuple[str, str], Arm]


def arms_of(counts: Mapping[tuple[str, str, str], Counts], metric: str) -> Arms:
    """The arms of every (model, variant) under one metric, in the order of `counts`.

    Raises:
        UserError: no metric has that name, or a problem has no graded sample.
    """
    blocks: dict[tuple[str, str], dict[str, NDArray[np.float64]]] = {}
    seeds: dict[tuple[str, str], tuple[int, ...]] = {}
    for (model, variant, benchmark), matrix in counts.items():
        blocks.setdefault((model, variant), {})[benchmark] = metric_values(metric, matrix.n, matrix.correct)
        seeds[model, variant] = matrix.seeds
    return {key: Arm("/".join(key), seeds[key], of_arm) for key, of_arm in blocks.items()}


def common_seeds(ours: Arm, theirs: Arm) -> tuple[Arm, Arm]:
    """Both arms with the runs of the seeds that both have.

    A study may give an ablation fewer seeds than the method that it ablates. That no cell of the study is missing is
    seen to where the cells are collected.

    Raises:
        UserError: they have no seed in common (the message names both).
    """
    shared = tuple(shared_seeds(ours.seeds, theirs.seeds))
    if not shared:
        raise UserError(
            f"a paired test needs common seeds: {ours.name} has {list(ours.seeds)}, {theirs.name} "
            f"{list(theirs.seeds)}; give them the same seeds"
        )

    def only(arm: Arm) -> Arm:
        rows = [arm.seeds.index(seed) for seed in shared]
        return Arm(arm.name, shared, {name: block[rows] for name, block in arm.blocks.items()})

    return only(ours), only(theirs)


def difference(ours: Arm, theirs: Arm) -> Arm:
    """ours - theirs, paired by seed and problem; both are arms of one model and metric with :func:`common_seeds`."""
    blocks = {name: block - theirs.blocks[name] for name, block in ours.blocks.items()}
    return Arm(f"{ours.name} - {theirs.name}", ours.seeds, blocks)
