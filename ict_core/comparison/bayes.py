"""A Bayesian interval of a level, as a second view if there are few problems."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ict_core.statistics.intervals import LEVEL

_SHARES = (np.arange(1000) + 0.5) / 1000  # values of the mean at which the posterior is evaluated
_CONCENTRATIONS = (np.arange(100) + 0.5) / 100  # quantiles of the prior of d, of equal weight


def credible_interval(n: ArrayLike, correct: ArrayLike) -> tuple[float, float]:
    """The central 95 % credible interval of a run's mean share of right answers, over new problems of the same kind.

    For each problem `n` is the number of graded samples, at least 1, and `correct` that of the right ones, (problems,).

    The model of Bowyer, Aitchison and Ivanova 2025 (arXiv:2503.01747): theta ~ Beta(1, 1), d ~ Gamma(1, 1), the
    share of a problem ~ Beta(d theta, d (1 - theta)), its right answers binomial. With one sample per problem d
    drops out, and the posterior is Beta(1 + right, 1 + wrong). Otherwise d is integrated out, and the limits are
    accurate to 0.001.
    """
    samples, right = np.asarray(n, dtype=np.int64), np.asarray(correct, dtype=np.int64)
    tails = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    if (samples == 1).all():
        low, high = stats.beta.ppf(tails, 1 + right.sum(), 1 + (samples - right).sum())
        return float(low), float(high)
    cases, counts = np.unique(np.stack([samples, right]), axis=1, return_counts=True)
    d = stats.gamma.ppf(_CONCENTRATIONS, 1.0)[:, None]
    a, b = d * _SHARES, d * (1 - _SHARES)
    logs = sum(
        count * stats.betabinom.logpmf(k, m, a, b) for m, k, count in zip(*cases.tolist(), counts.tolist(), strict=True)
    )
    weights = np.exp(logs - np.max(logs)).sum(axis=0)
    cumulative = np.cumsum(weights) / weights.sum()
    low, high = np.interp(tails, cumulative, _SHARES)
    return float(low), float(high)
