"""Notices for numbers that rest on fewer samples than were drawn, because some could not be graded."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ict_core.statistics._metrics import metrics_of, most_missing
from ict_core.statistics._names import AVERAGE
from ict_core.store.records import STATUSES_UNGRADED

_NAMED = 6  # arms in a sentence


class _Block(NamedTuple):
    """What an arm's runs gave on one benchmark: samples drawn and graded, and of each run and problem how many."""

    sampled: int
    graded: int
    n: NDArray[np.int64]


class Graded:
    """How many samples of each arm were graded, all its seeds together, by a frame of `records.SCORES`."""

    def __init__(self, scores: pd.DataFrame) -> None:
        self._scores = scores
        self._arms: dict[tuple[str, str], dict[str, _Block]] = {}
        if (scores["n"] < scores["sampled"]).any():
            for (model, variant, benchmark), rows in scores.groupby(["model", "variant", "benchmark"], sort=False):
                block = _Block(int(rows["sampled"].sum()), int(rows["n"].sum()), rows["n"].to_numpy(np.int64))
                self._arms.setdefault((str(model), str(variant)), {})[str(benchmark)] = block

    def notice(self, model: str, variants: Iterable[str], benchmarks: Sequence[str], metrics: Sequence[str]) -> str:
        """What must be known of a number, made from metrics, of one variant or of those that it compares.

        It is a mean over the benchmarks; the average is all. A variant without scores says nothing.

        Returns:
            The samples graded of each arm, and by how many percent points a metric may be too low because pass@n stood
            in; empty where every sample was graded.
        """
        arms = [(name, self._blocks(model, name, benchmarks)) for name in dict.fromkeys(variants)]
        counts = [(name, sum(b.graded for b in blocks), sum(b.sampled for b in blocks)) for name, blocks in arms]
        if all(graded == sampled for _, graded, sampled in counts):
            return ""
        told = ["graded samples: " + ", ".join(f"{name} {n} of {sampled}" for name, n, sampled in counts if sampled)]
        for name, blocks in arms:
            lacking = ((metric, _missing(blocks, metric)) for metric in metrics)
            told += [f"{metric} of {name} at most {100 * m:.2g} points too low" for metric, m in lacking if m]
        return "; ".join(told)

    def sentence(self) -> str:
        """For all numbers of the study together, arms in backquotes; empty where every sample was graded."""
        if not self._arms:
            return ""
        lost = {"/".join(k): sum(b.sampled - b.graded for b in blocks.values()) for k, blocks in self._arms.items()}
        named = [f"`{arm}` {count}" for arm, count in lost.items() if count]
        more = f" and {len(named) - _NAMED} other arms" if len(named) > _NAMED else ""
        text = (
            f"{sum(lost.values())} of {self._scores['sampled'].sum():,} samples could not be graded "
            f"({', '.join(STATUSES_UNGRADED)}) and enter no value: {', '.join(named[:_NAMED])}{more}."
        )
        metrics = metrics_of(self._scores)
        most = max(_missing([*blocks.values()], metric) for blocks in self._arms.values() for metric in metrics)
        if most:
            text += (
                " Of a problem with n < k graded samples pass@n stands for pass@k; it makes no average more than "
                f"{100 * most:.2g} points too low."
            )
        return text

    def _blocks(self, model: str, variant: str, benchmarks: Sequence[str]) -> list[_Block]:
        blocks = self._arms.get((model, variant), {})
        return [block for name, block in blocks.items() if AVERAGE in benchmarks or name in benchmarks]


def _missing(blocks: Sequence[_Block], metric: str) -> float:
    """By how much at most the mean over the benchmarks is too low, a share; 0 of none."""
    return float(np.mean([most_missing(metric, block.n).mean() for block in blocks])) if blocks else 0.0
