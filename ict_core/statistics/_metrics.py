"""The metrics by name, "pass@1", "pass@2", ... and "total", as one value a problem, and the estimator of pass@k."""

import re

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ict_core.errors import UserError

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

    Args:
        n: samples graded of each problem, integers of any shape.
        c: samples correct of each problem, integers, broadcast against `n`.
        k: samples that the user of the model may draw.

    Raises:
        ValueError: k < 1, n < k, c < 0, c > n, or a count is not an integer.
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
    which is too low by :func:`most_missing` at most.

    Args:
        metric: a name.
        n: samples graded, integers of any shape, at least 1.
        correct: samples correct, integers, broadcast against `n`; a ValueError where the counts are impossible.
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


def sampling_variance(metric: str, n: ArrayLike, correct: ArrayLike) -> NDArray[np.float64]:
    """The unbiased estimate of the variance that drawing n samples gives a problem's value, at a fixed model.

    U_m = C(n-c, m) / C(n, m) estimates q^m without bias, q the chance of a wrong sample. So the covariance of U_j and
    U_k, E[U_j U_k] - q^(j+k), is estimated without bias by U_j U_k - U_(j+k); for pass@1 this is p(1-p)/(n-1). A single
    estimate may lie below 0. Arguments as of :func:`metric_values`.

    Returns:
        Shape as broadcast, a share squared; NaN where n is below twice what the metric needs.
    """
    graded, right = np.broadcast_arrays(np.asarray(n), np.asarray(correct))
    ks, variance = ks_of(metric), np.full(graded.shape, np.nan)
    known = graded >= 2 * max(ks)
    sums = {j + k for j in ks for k in ks}
    wrong = {m: 1.0 - pass_at_k(graded[known], right[known], m) for m in sorted(sums | set(ks))}
    variance[known] = np.mean([wrong[j] * wrong[k] - wrong[j + k] for j in ks for k in ks], axis=0)
    return variance
