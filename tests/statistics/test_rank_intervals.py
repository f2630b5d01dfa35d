"""Ranks with what the runs leave open."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ict_core.seeding import generator
from ict_core.statistics.ranks import rank_frame, rank_intervals
from ict_core.statistics.schemas import RANKS


def spread(mean, seeds=6):
    return mean + np.array([-0.01, 0.01] * (seeds // 2))


def test_by_hand():
    noise = np.array([0.001, -0.002, 0.0, 0.002, -0.001, 0.0])
    values = np.stack([spread(0.5), spread(0.5) + noise, spread(0.3) - noise, spread(0.1) + 2 * noise])
    low, high = rank_intervals(values)
    assert low.tolist() == [1, 1, 3, 4] and high.tolist() == [2, 2, 3, 4]


def test_against_an_oracle_that_goes_through_all_pairs():
    values = generator(0, "ranks", 1).normal([[0.0], [0.5], [1.0], [1.6], [3.0]], 0.6, (5, 8))
    low, high = rank_intervals(values)
    pairs = [(i, j) for i in range(5) for j in range(i)]
    p = {pair: stats.ttest_rel(values[pair[0]], values[pair[1]]).pvalue for pair in pairs}
    found, left = set(), sorted(pairs, key=p.get)
    for done, pair in enumerate(left):  # Holm, by hand
        if p[pair] * (len(pairs) - done) >= 0.05:
            break
        found.add(pair)
    assert 0 < len(found) < len(pairs)
    above = [sum(values[o].mean() > values[i].mean() for o in range(5) if {(i, o), (o, i)} & found) for i in range(5)]
    below = [sum(values[o].mean() < values[i].mean() for o in range(5) if {(i, o), (o, i)} & found) for i in range(5)]
    assert low.tolist() == [1 + n for n in above] and high.tolist() == [5 - n for n in below]


def test_equal_arms_share_their_ranks_and_a_constant_difference_decides_nothing():
    one = spread(0.4)
    low, high = rank_intervals(np.stack([one, one, one + 0.1]))
    assert low.tolist() == [1, 1, 1] and high.tolist() == [3, 3, 3]
    low, high = rank_intervals(np.array([[0.1], [0.9]]))
    assert low.tolist() == [1, 1] and high.tolist() == [2, 2]
    assert [rank.tolist() for rank in rank_intervals(one[None])] == [[1], [1]]


@pytest.mark.parametrize("truth", [np.zeros(6), np.array([0.0, 0.0, 0.5, 0.5, 1.0, 3.0])])
def test_the_intervals_hold_the_true_ranks_of_all_arms_together(truth):
    """Of equal arms every rank from that of the best of them to that of the last is true."""
    covered, studies = 0, 150
    first = np.array([1 + (truth > mean).sum() for mean in truth])
    last = np.array([(truth >= mean).sum() for mean in truth])
    for index in range(studies):
        draws = generator(0, "ranks, coverage", index)
        values = truth[:, None] + draws.normal(0, 0.5, (6, 8)) + draws.normal(0, 1, 8)  # what a seed gives all arms
        low, high = rank_intervals(values)
        covered += bool((low <= first).all() and (high >= last).all())
    assert covered >= 0.93 * studies


def test_the_frame_ranks_the_average_by_model_over_common_seeds():
    rows = [
        (model, variant, seed, benchmark, "pass@4", value + 0.001 * (seed * shift % 3))
        for model in ("s", "m")
        for variant, value, shift in (("grpo", 0.5, 1), ("ict-10", 0.2, 2), ("other", 0.9, 1))
        for seed in range(5 - (variant == "grpo"))
        for benchmark in ("average", "gsm8k")
    ]
    runs = pd.DataFrame(rows, columns=["model", "variant", "seed", "benchmark", "metric", "value"])
    frame = rank_frame(runs, ["ict-10", "grpo"])
    assert list(frame) == list(RANKS)
    assert frame.to_numpy().tolist() == [
        [model, variant, "pass@4", rank, rank, rank, 2, 4]
        for model in ("s", "m")
        for variant, rank in (("ict-10", 2), ("grpo", 1))
    ]
    assert rank_frame(runs.iloc[:0], ["grpo"]).empty
