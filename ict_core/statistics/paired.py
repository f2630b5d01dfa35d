"""The paired t-test of two methods' runs."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from ict_core.errors import UserError
from ict_core.statistics.intervals import LEVEL, t_interval, without_spread


@dataclass(frozen=True)
class Paired:
    """A difference of two methods over paired runs, in the runs' unit.

    `low`, `high` and `p` are NaN where there is no test: a single seed, or differences that are all equal.
    `correlation` is Pearson's between the two methods' runs: what the pairing bought. It is NaN below three seeds
    (two points always correlate to +-1) and where one method's runs are all equal.
    """

    difference: float
    low: float
    high: float
    p: float
    correlation: float
    seeds: int


def _aligned(ours: pd.Series, theirs: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both arms' values in the order of their seeds, each of shape (seeds,)."""
    for arm in (ours, theirs):
        if arm.empty:
            raise UserError(f"{arm.name}: has no runs")
        if arm.index.has_duplicates:
            twice = sorted(set(arm.index[arm.index.duplicated()]))
            raise UserError(f"{arm.name}: seeds {twice} occur more than once")
    only_ours, only_theirs = sorted(set(ours.index) - set(theirs.index)), sorted(set(theirs.index) - set(ours.index))
    if only_ours or only_theirs:
        lacks = [f"{arm.name} lacks seeds {s}" for arm, s in ((theirs, only_ours), (ours, only_theirs)) if s]
        raise UserError(f"a paired test needs the same seeds in both arms: {'; '.join(lacks)}; run the missing cells")
    return ours.sort_index().to_numpy(np.float64), theirs.loc[ours.sort_index().index].to_numpy(np.float64)


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    if a.size < 3 or without_spread(a) or without_spread(b):
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def paired_t(ours: pd.Series, theirs: pd.Series, level: float = LEVEL) -> Paired:
    """Two-sided paired t-test of ours - theirs, paired by seed.

    Differences that are all equal have no t-test: the statistic is 0/0 or infinite, and a p of 0 from a handful of
    equal seeds would claim what the data cannot show. They get no p and no interval.

    Args:
        ours: one value a run, indexed by seed; its name is the arm's in messages.
        theirs: likewise.
        level: coverage of the interval in (0, 1).

    Raises:
        UserError: an arm is empty, a seed stands twice, or the arms have different seeds (the message names them).
    """
    a, b = _aligned(ours, theirs)
    interval = t_interval(a - b, level)
    p = float("nan") if np.isnan(interval.low) else float(stats.ttest_rel(a, b).pvalue)
    return Paired(interval.mean, interval.low, interval.high, p, _correlation(a, b), a.size)
