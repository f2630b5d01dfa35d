"""Ranks of the methods of a study, no finer than the runs can tell."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from ict_core.statistics.deciding import holm
from ict_core.statistics.intervals import Floats, over_runs
from ict_core.statistics.schemas import ALPHA, AVERAGE, PASS_METRICS, RANKS


def rank_intervals(values: Floats) -> tuple[Floats, Floats]:
    """The lowest and the highest rank that each arm may have, 1 the best; all hold together with 95 % confidence.

    Every two arms are compared by the paired t test over seeds, Holm's correction runs over all pairs. An arm ranks
    behind those that are found better than it, and before those that are found worse; the rest is open (the
    construction of Mogstad, Romano, Shaikh and Wilhelm, 2024, with this correction). Pairs whose differences are all
    equal give no t test and tell nothing. The sign-flip test is not used: with few seeds its smallest p is no match for
    a correction over so many pairs.

    From one value a run, shape (arms, seeds), paired by seed; both results have the shape (arms,).
    """
    arms = len(values)
    better, worse = np.zeros((2, arms))
    pairs = list(combinations(range(arms), 2))
    gaps = [over_runs(values[one] - values[other]) for one, other in pairs]
    for (one, other), gap, p in zip(pairs, gaps, holm([float(gap.p) for gap in gaps]), strict=True):
        if p < ALPHA:
            above, below = (one, other) if gap.mean > 0 else (other, one)
            better[below] += 1
            worse[above] += 1
    return 1 + better, arms - worse


def rank_frame(runs: pd.DataFrame, variants: Sequence[str]) -> pd.DataFrame:
    """`statistics.RANKS`: the rank of each of these variants by its mean over runs on the average, a metric and model.

    Of a frame of `statistics.schemas.RUNS`; the seeds are those that every variant of a model has, and without one
    there is no rank. Equal means share the better rank.
    """
    chosen = runs["metric"].isin(PASS_METRICS) & runs["variant"].isin(list(variants))
    average = runs[(runs["benchmark"] == AVERAGE) & chosen]
    rows = []
    for (model, metric), of_model in average.groupby(["model", "metric"], sort=False):
        table = of_model.pivot(index="variant", columns="seed", values="value").dropna(axis=1)
        table = table.reindex([variant for variant in variants if variant in table.index])
        if not table.shape[1]:
            continue
        low, high = rank_intervals(table.to_numpy(np.float64))
        rank = stats.rankdata(-table.mean(axis=1).round(12), method="min")
        for variant, *numbers in zip(table.index, rank, low, high, strict=True):
            rows.append((model, variant, metric, *map(int, numbers), len(table), table.shape[1]))
    return pd.DataFrame(rows, columns=list(RANKS))
