"""The metrics by name, "pass@1", "pass@2", ... and "total", as one value a problem."""

import re

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ict_core.errors import UserError
from ict_core.statistics.pass_at_k import pass_at_k

TOTAL = "total"
TOTAL_KS = (1, 4)  # "total" is the mean of pass@1 and pass@4, taken problem by problem


def ks_of(metric: str) -> tuple[int, ...]:
    """The k whose pass@k a metric is the mean of.

    Raises:
        UserError: no metric has that name.
    """
    if metric == TOTAL:
        return TOTAL_KS
    if not re.fullmatch(r"pass@[1-9][0-9]*", metric):
        raise UserError(f"metric {metric!r}: unknown; use pass@1, pass@2, pass@4, ... or {TOTAL}")
    return (int(metric.removeprefix("pass@")),)


def samples_needed(metric: str) -> int:
    """How many graded samples of every problem a metric needs.

    Raises:
        UserError: no metric has that name.
    """
    return max(ks_of(metric))


def metrics_of(scores: pd.DataFrame) -> list[str]:
    """The metrics that a study can report: pass@1, @2, @4, ... up to the smallest n, and total where n >= 4.

    pass@1 is always among them, so that a problem without any graded sample is found and named by the next step.

    Args:
        scores: a frame of `records.SCORES` with at least one row.
    """
    smallest = max(int(scores["n"].min()), 1)
    return [f"pass@{2**i}" for i in range(smallest.bit_length())] + [TOTAL] * (smallest >= max(TOTAL_KS))


def metric_values(metric: str, n: ArrayLike, correct: ArrayLike) -> NDArray[np.float64]:
    """A metric's value of each problem.

    Args:
        metric: a name.
        n: samples graded, integers of any shape.
        correct: samples correct, integers, broadcast against `n`.

    Returns:
        Shares in [0, 1], of the broadcast shape.

    Raises:
        UserError: no metric has that name, or n is too small or the counts impossible.
    """
    return np.mean([pass_at_k(n, correct, k) for k in ks_of(metric)], axis=0)


def sampling_variance(metric: str, n: ArrayLike, correct: ArrayLike) -> NDArray[np.float64]:
    """The unbiased estimate of the variance that drawing n samples gives a problem's value, at a fixed model.

    U_m = C(n-c, m) / C(n, m) estimates q^m without bias, q the chance of a wrong sample. So the covariance of U_j and
    U_k, E[U_j U_k] - q^(j+k), is estimated without bias by U_j U_k - U_(j+k); for pass@1 this is p(1-p)/(n-1). A single
    estimate may lie below 0.

    Args:
        metric: a name.
        n: samples graded, integers of any shape.
        correct: samples correct, integers, broadcast against `n`.

    Returns:
        Shape as broadcast, a share squared; NaN throughout where some n is below twice what the metric needs.

    Raises:
        UserError: no metric has that name, or the counts are impossible.
    """
    graded, right = np.broadcast_arrays(np.asarray(n), np.asarray(correct))
    ks = ks_of(metric)
    if graded.min() < 2 * max(ks):
        return np.full(graded.shape, np.nan)
    sums = {j + k for j in ks for k in ks}
    wrong = {m: 1.0 - pass_at_k(graded, right, m) for m in sorted(sums | set(ks))}
    covariances = [wrong[j] * wrong[k] - wrong[j + k] for j in ks for k in ks]
    return np.mean(covariances, axis=0)
