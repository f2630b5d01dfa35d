"""Ranks of a study's methods, as far as its runs can tell them apart."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from ict_core.statistics.deciding import holm
from ict_core.statistics.intervals import Floats, over_runs
from ict_core.statistics.schemas import ALPHA, AVERAGE, PASS_METRICS, RANKS


def rank_intervals(values: Floats) -> tuple[Floats, Floats]:
    """The lowest and highest rank that each arm may have, 1 the best, with 95 % confidence for all arms together.

    All pairs of arms are compared by the paired t-test over seeds, with Holm's correction over all pairs. An arm ranks
    behind the arms that are found better, and before those that are found worse. The rest is open (the construction of
    Mogstad, Romano, Shaikh and Wilhelm, 2024, with this correction). A pair whose differences are all equal has no
    t-test and decides nothing. The sign-flip test is not used: with few seeds its smallest p is too large for a
    correction over so many pairs.

    `values` has one value per run, shape (arms, seeds), paired by seed. Both results have shape (arms,).
    """
    arms = len(values)
    better, worse = np.zeros((2, arms))
    pairs = list(combinations(range(arms), 2))
    gaps = [over_runs(values[first] - values[second]) for first, second in pairs]
    for (first, second), gap, p in zip(pairs, gaps, holm([float(gap.p) for gap in gaps]), strict=True):
        if p < ALPHA:
            winner, loser = (first, second) if gap.mean > 0 else (second, first)
            better[loser] += 1
            worse[winner] += 1
    return 1 + better, arms - worse


def rank_frame(runs: pd.DataFrame, variants: Sequence[str]) -> pd.DataFrame:
    """A frame of `RANKS`: these variants ranked by their mean over runs on the average, for each metric and model.

    `runs` is a frame of `statistics.schemas.RUNS`. The seeds are those that all variants of a model have; without
    such a seed there is no rank. Equal means share the better rank.
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
