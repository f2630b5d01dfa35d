"""The metrics by name, "pass@1", "pass@2", ... and "total", as one value per problem, and the estimator of pass@k."""

import re
from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ict_core.errors import UserError
from ict_core.statistics.schemas import AVERAGE
from ict_core.store.records import STATUSES_UNGRADED

TOTAL = "total"
TOTAL_KS = (1, 4)  # "total" is the mean of pass@1 and pass@4, taken problem by problem


def ks_of(metric: str) -> tuple[int, ...]:
    """The values of k over whose pass@k a metric is the mean; an unknown name is a UserError, here and below."""
    if metric == TOTAL:
        return TOTAL_KS
    if not re.fullmatch(r"pass@[1-9][0-9]*", metric):
        raise UserError(f"metric {metric!r}: unknown; use pass@1, pass@2, pass@4, ... or {TOTAL}")
    return (int(metric.removeprefix("pass@")),)


def samples_needed(metric: str) -> int:
    """How many samples of each problem a metric needs."""
    return max(ks_of(metric))


def metrics_of(scores: pd.DataFrame) -> list[str]:
    """The metrics that a study can report: pass@1, @2, @4, ... up to the fewest samples drawn, and total from 4 on.

    `scores` is a frame of `records.SCORES` with at least one row. Samples that could not be graded remove no metric.
    """
    smallest = max(int(scores["sampled"].min()), 1)
    powers = [f"pass@{2**i}" for i in range(smallest.bit_length())]
    return [*powers, TOTAL] if smallest >= max(TOTAL_KS) else powers


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> NDArray[np.float64]:
    """Probability that at least one of k samples, drawn without replacement from n graded ones, is correct.

    The estimate 1 - C(n-c, k) / C(n, k) is unbiased (Chen et al. 2021, arXiv:2107.03374). Its quotient is computed as
    the product of the k ratios (n-c-j) / (n-j), so that no factorial is formed. n samples of each problem were graded
    and c are correct, integers whose shapes broadcast; k is the number of samples that a user may draw.

    A ValueError if k < 1, n < k, c < 0, c > n, or a count is not an integer.
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
    """pass@k of each problem, or pass@n of a problem with n < k graded samples."""
    graded, right = np.broadcast_arrays(np.asarray(n), np.asarray(correct))
    drawn = np.clip(graded, 1, k)
    values = np.empty(graded.shape)
    for size in np.unique(drawn):
        values[drawn == size] = pass_at_k(graded[drawn == size], right[drawn == size], int(size))
    return values


def metric_values(metric: str, n: ArrayLike, correct: ArrayLike) -> NDArray[np.float64]:
    """A metric's value on each problem.

    pass@k has no unbiased estimate from n < k samples. Where so few samples of a problem could be graded, pass@n
    replaces it, which is too low by :func:`most_missing` at most. `n` (at least 1) samples of each problem were graded
    and `correct` of them are correct, integers whose shapes broadcast. Impossible counts are a ValueError.
    """
    return np.mean([_pass_at(k, n, correct) for k in ks_of(metric)], axis=0)


def sampling_variance(metric: str, n: ArrayLike, correct: ArrayLike) -> NDArray[np.float64]:
    """The variance of each problem's :func:`metric_values` over other samples of it, by the jackknife over its samples.

    For pass@1 it is p (1 - p) / (n - 1), unbiased; for others too large rather than too small in the mean (Efron and
    Stein 1981). With no more graded samples than the metric needs it is 1/4, the most that it could be. Arguments as in
    `metric_values`.
    """
    graded, right = np.broadcast_arrays(np.asarray(n), np.asarray(correct))
    wrong, fewer = graded - right, np.maximum(graded - 1, 1)
    without_right, without_wrong = np.maximum(right - 1, 0), right - (wrong == 0)
    step = metric_values(metric, fewer, without_wrong) - metric_values(metric, fewer, without_right)
    spread = right * wrong / graded * step**2  # the sum of squares about their mean
    return np.where(graded > samples_needed(metric), (graded - 1) / graded * spread, 0.25)


def most_missing(metric: str, n: ArrayLike) -> NDArray[np.float64]:
    """How far at most the expected :func:`metric_values` of a problem are below the metric, if n samples are graded.

    If q is the chance of a wrong sample, pass@n is q^n - q^k below pass@k; the maximum is at q = (n / k)^(1 / (k - n)).
    The result is a share, in the shape of `n`, and 0 where n is as large as the metric needs.
    """
    graded, missing = np.asarray(n, dtype=np.float64), []
    for k in ks_of(metric):
        few = np.minimum(graded, k - 1)
        largest = (few / k) ** (few / (k - few)) * (1 - few / k)
        missing.append(np.where(graded < k, largest, 0.0))
    return np.mean(missing, axis=0)


def covers(mean: str, benchmark: str, averaged: Collection[str] | None) -> bool:
    """Whether a benchmark enters a mean: its own mean, or the average over `averaged` (None: over all)."""
    return mean == benchmark or (mean == AVERAGE and (averaged is None or benchmark in averaged))


_NAMED = 6  # arms that a sentence names at most


def ungraded(scores: pd.DataFrame, averaged: Collection[str] | None = None) -> str:
    """A sentence on the samples in a frame of `records.SCORES` that could not be graded; empty if all were graded.

    It names the arms in backquotes. It also says by how much at most pass@n, used in place of pass@k, lowers an average
    over the benchmarks `averaged` (by default all).
    """
    names = scores["model"] + "/" + scores["variant"]
    sums = scores.groupby(names, sort=False)[["sampled", "n"]].sum()
    lost = sums["sampled"] - sums["n"]
    if not lost.any():
        return ""
    named = [f"`{arm}` {count}" for arm, count in lost[lost > 0].items()]
    more = f" and {len(named) - _NAMED} other arms" if len(named) > _NAMED else ""
    text = (
        f"{lost.sum()} of {sums['sampled'].sum():,} samples could not be graded "
        f"({', '.join(STATUSES_UNGRADED)}) and enter no value: {', '.join(named[:_NAMED])}{more}."
    )
    inside = scores[[covers(AVERAGE, name, averaged) for name in scores["benchmark"]]]
    too_low = [pd.Series(most_missing(metric, inside["n"]), index=inside.index) for metric in metrics_of(scores)]
    by_benchmark = [of_metric.groupby([names, inside["benchmark"]]).mean() for of_metric in too_low]
    if largest := max(float(of_metric.groupby(level=0).mean().max()) for of_metric in by_benchmark):
        text += (
            " Of a problem with n < k graded samples pass@n stands for pass@k; it makes no average more than "
            f"{100 * largest:.2g} points too low."
        )
    return text
