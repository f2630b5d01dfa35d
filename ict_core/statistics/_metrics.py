"""The metrics by name, "pass@1", "pass@2", ... and "total", as one value a problem, and the estimator of pass@k.

Also notices for numbers that rest on fewer samples than were drawn, because some could not be graded.
"""

import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ict_core.errors import UserError
from ict_core.statistics._schemas import AVERAGE
from ict_core.store.records import STATUSES_UNGRADED

TOTAL = "total"
TOTAL_KS = (1, 4)  # "total" is the mean of pass@1 and pass@4, taken problem by problem


def ks_of(metric: str) -> tuple[int, ...]:
    """The k whose pass@k a metric is the mean of; a UserError, here and below, where no metric has that name."""
    if metric == TOTAL:
        return TOTAL_KS
    if not re.fullmatch(r"pass@[1-9][0-9]*", metric):
        raise UserError(f"metric {metric!r}: unknown; use pass@1, pass@2, pass@4, ... or {TOTAL}")
    return (int(metric.removeprefix("pass@")),)


def samples_needed(metric: str) -> int:
    """How many samples of a problem a metric needs."""
    return max(ks_of(metric))


def metrics_of(scores: pd.DataFrame) -> list[str]:
    """The metrics that a study can report: pass@1, @2, @4, ... up to the fewest samples drawn, and total from 4 on.

    Of a frame of `records.SCORES` with a row. A sample that could not be graded takes no metric away.
    """
    smallest = max(int(scores["sampled"].min()), 1)
    powers = [f"pass@{2**i}" for i in range(smallest.bit_length())]
    return [*powers, TOTAL] if smallest >= max(TOTAL_KS) else powers


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> NDArray[np.float64]:
    """Probability that at least one of k samples, drawn without return from the n at hand, is correct.

    1 - C(n-c, k) / C(n, k), which is unbiased (Chen et al. 2021, arXiv:2107.03374), as the product of the k ratios
    (n-c-j) / (n-j), so that no factorial is formed.
    n samples of each problem were graded and c correct, integers whose shapes broadcast; k is what a user may draw.

    k < 1, n < k, c < 0, c > n, or a count that is no integer, are a ValueError.
    """
    graded, correct = np.asarray(n), np.asarray(c)
    if graded.dtype.kind not in "iu" or correct.dtype.kind not in "iu":
        raise ValueError(f"pass@{k}: n and c are counts and must be integers, not {graded.dtype} and {correct.dtype}")
    graded, correct = np.broadcast_arrays(graded.astype(np.int64), correct.astype(np.int64))
    if k < 1:
        raise ValueError(f"pass@{k}: k must be at least 1")
    if (graded < k).any():
        raise ValueError(f"pass@{k}: needs n >= k samples of every problem, the smallest n is {graded.min()}")
    if (correct < 0).any() or (correct > graded).any():
        raise ValueError(f"pass@{k}: 0 <= c <= n is broken, c reaches from {correct.min()} to {correct.max()}")
    none_correct = np.ones(graded.shape)
    for drawn in range(k):  # a loop over k, so that no array of k times the size is formed
        none_correct *= np.maximum(graded - correct - drawn, 0) / (graded - drawn)
    return np.asarray(1.0 - none_correct)


def _pass_at(k: int, n: ArrayLike, correct: ArrayLike) -> NDArray[np.float64]:
    """pass@k of each problem; of one with fewer than k graded samples its pass@n."""
    graded, right = np.broadcast_arrays(np.asarray(n), np.asarray(correct))
    drawn = np.clip(graded, 1, k)
    values = np.empty(graded.shape)
    for size in np.unique(drawn):
        values[drawn == size] = pass_at_k(graded[drawn == size], right[drawn == size], int(size))
    return values


def metric_values(metric: str, n: ArrayLike, correct: ArrayLike) -> NDArray[np.float64]:
    """A metric's value of each problem.

    From n < k samples pass@k has no unbiased estimate. Where so few of a problem could be graded, its pass@n stands in,
    which is too low by :func:`most_missing` at most. Of a problem n >= 1 samples were graded and so many correct,
    integers whose shapes broadcast; impossible counts are a ValueError.
    """
    return np.mean([_pass_at(k, n, correct) for k in ks_of(metric)], axis=0)


def most_missing(metric: str, n: ArrayLike) -> NDArray[np.float64]:
    """How far the expectation of a problem's :func:`metric_values` may at most lie below the metric, if n are graded.

    With q the chance of a wrong sample, pass@n lies q^n - q^k below pass@k; the most is at q = (n / k)^(1 / (k - n)).
    Shares, of the shape of `n`; 0 where n is as large as the metric needs.
    """
    graded, missing = np.asarray(n, dtype=np.float64), []
    for k in ks_of(metric):
        few = np.minimum(graded, k - 1)
        most = (few / k) ** (few / (k - few)) * (1 - few / k)
        missing.append(np.where(graded < k, most, 0.0))
    return np.mean(missing, axis=0)


def covers(mean: str, benchmark: str, averaged: Collection[str] | None) -> bool:
    """Whether a benchmark enters a mean: that of itself, or the average over `averaged` (None: over all)."""
    return mean == benchmark or (mean == AVERAGE and (averaged is None or benchmark in averaged))


_NAMED = 6  # arms in a sentence


class Graded:
    """How many samples of each arm were graded, all its seeds together, by a frame of `records.SCORES`.

    The average is over the benchmarks `averaged`, by default over all.
    """

    def __init__(self, scores: pd.DataFrame, averaged: Collection[str] | None = None) -> None:
        self._scores = scores
        self._averaged = averaged
        self._arms: dict[tuple[str, str], dict[str, pd.DataFrame]] = {}  # of each benchmark its rows
        if (scores["n"] < scores["sampled"]).any():
            for (model, variant, benchmark), rows in scores.groupby(["model", "variant", "benchmark"], sort=False):
                self._arms.setdefault((str(model), str(variant)), {})[str(benchmark)] = rows[["sampled", "n"]]

    def notice(self, model: str, variants: Iterable[str], benchmarks: Sequence[str], metrics: Sequence[str]) -> str:
        """What must be known of a number, made from metrics, of one variant or of those that it compares.

        It is a mean over the benchmarks. A variant without scores says nothing. Told are the samples graded of each
        arm, and by how many percent points a metric may be too low because pass@n stood in; nothing where every sample
        was graded.
        """
        arms = {name: self._entering((model, name), benchmarks) for name in variants}
        arms = {name: blocks for name, blocks in arms.items() if blocks}
        counts = {name: pd.concat(blocks).sum() for name, blocks in arms.items()}
        if all(count["n"] == count["sampled"] for count in counts.values()):
            return ""
        shares = [f"{name} {count['n']} of {count['sampled']}" for name, count in counts.items()]
        sentences = ["graded samples: " + ", ".join(shares)]
        for name, blocks in arms.items():
            lacking = ((metric, _missing(blocks, metric)) for metric in metrics)
            sentences += [f"{metric} of {name} at most {100 * m:.2g} points too low" for metric, m in lacking if m]
        return "; ".join(sentences)

    def sentence(self) -> str:
        """For all numbers of the study together, arms in backquotes; empty where every sample was graded."""
        if not self._arms:
            return ""
        sums = self._scores.groupby(["model", "variant"], sort=False)[["sampled", "n"]].sum()
        arms = sums.assign(lost=sums["sampled"] - sums["n"]).reset_index()
        lost = arms[["model", "variant", "lost"]].to_numpy().tolist()
        named = [f"`{model}/{variant}` {count}" for model, variant, count in lost if count]
        more = f" and {len(named) - _NAMED} other arms" if len(named) > _NAMED else ""
        text = (
            f"{arms['lost'].sum()} of {arms['sampled'].sum():,} samples could not be graded "
            f"({', '.join(STATUSES_UNGRADED)}) and enter no value: {', '.join(named[:_NAMED])}{more}."
        )
        averages = [self._entering(arm, [AVERAGE]) for arm in self._arms]
        most = max(_missing(blocks, metric) for blocks in averages for metric in metrics_of(self._scores))
        if most:
            text += (
                " Of a problem with n < k graded samples pass@n stands for pass@k; it makes no average more than "
                f"{100 * most:.2g} points too low."
            )
        return text

    def _entering(self, arm: tuple[str, str], means: Sequence[str]) -> list[pd.DataFrame]:
        """An arm's rows of each benchmark that enters one of these means."""
        of_arm = self._arms.get(arm, {}).items()
        return [rows for name, rows in of_arm if any(covers(mean, name, self._averaged) for mean in means)]


def _missing(blocks: Sequence[pd.DataFrame], metric: str) -> float:
    """By how much at most the mean over the benchmarks is too low, a share; 0 of none."""
    return float(np.mean([most_missing(metric, rows["n"]).mean() for rows in blocks])) if blocks else 0.0
