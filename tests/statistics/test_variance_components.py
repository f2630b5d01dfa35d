from math import isnan, sqrt

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm

from ict_core.statistics import RERUN, STATISTICS, two_way
from ict_core.statistics._arms import Arm, Counts, arms_of
from ict_core.statistics._levels import component_frame, components, rerun_variance, sampling_of
from ict_core.store.records import write_frame

SOURCES = ["seed", "problem", "seed x problem", "sampling"]


def test_by_hand():
    # run means 1 and 3, problem means 0.5 and 3.5, residuals +-0.5 (mean square 1, V_residual 0.25)
    sds, contributions = components([np.array([[0.0, 2.0], [1.0, 5.0]])], [0.4])
    # V_runs 1, V_problems 2.25: seed 2 * 0.75, problem 2 * 2, seed x problem 1 - 0.4
    assert sds == pytest.approx([sqrt(1.5), 2, sqrt(0.6), sqrt(0.4)])
    assert contributions == pytest.approx([0.75, 2, 0.15, 0.1])


def test_estimates_below_zero_are_cut():
    sds, contributions = components([np.array([[0.0, 2.0], [3.0, 1.0]])], [5.0])  # V_residual 1, mean square 4
    assert sds == pytest.approx([0, 0, 0, sqrt(5)]) and contributions == pytest.approx([0, 0, 0, 5 / 4])


def test_sampling_that_is_not_known_of_every_benchmark_stays_within_seed_x_problem():
    sds, contributions = components([np.array([[0.0, 2.0], [1.0, 5.0]])], [float("nan")])
    assert sds[2] == pytest.approx(1) and contributions[2] == pytest.approx(0.25)
    assert isnan(sds[3]) and isnan(contributions[3])
    blocks = list(np.random.default_rng(0).normal(size=(2, 3, 4)))
    np.testing.assert_equal(components(blocks, [0.1, np.nan]), components(blocks, [np.nan, np.nan]))


def test_agrees_with_the_analysis_of_variance():
    rng = np.random.default_rng(5)
    blocks = [rng.normal(0, 1, (4, 1)) + rng.normal(0, 2, (1, p)) + rng.normal(size=(4, p)) for p in (6, 9)]
    seed, problem, rest = [], [], []
    for block in blocks:
        long = pd.DataFrame([(s, p, y) for (s, p), y in np.ndenumerate(block)], columns=["s", "p", "y"])
        table = anova_lm(smf.ols("y ~ C(s) + C(p)", long).fit())
        of_seed, of_problem, of_rest = table["sum_sq"] / table["df"]
        seed.append((of_seed - of_rest) / block.shape[1])
        problem.append((of_problem - of_rest) / 4)
        rest.append(of_rest)
    for i in range(2):
        sds, contributions = components([blocks[i]], [0.1])
        assert np.square(sds) == pytest.approx([seed[i], problem[i], rest[i] - 0.1, 0.1])
        sizes = np.array([4, blocks[i].shape[1], blocks[i].size, blocks[i].size])
        assert contributions == pytest.approx(np.square(sds) / sizes)
    sds, contributions = components(blocks, [0.1, 0.3])
    averaged = np.var((blocks[0].mean(axis=1) + blocks[1].mean(axis=1)) / 2, ddof=1)
    of_effect = averaged - (rest[0] / 6 + rest[1] / 9) / 4
    assert np.square(sds) == pytest.approx([of_effect, np.mean(problem), np.mean(rest) - 0.2, 0.2])
    sums = [of_effect / 4, (problem[0] / 6 + problem[1] / 9) / 4]
    sums += [((rest[0] - 0.1) / 24 + (rest[1] - 0.3) / 36) / 4, (0.1 / 24 + 0.3 / 36) / 4]
    assert contributions == pytest.approx(sums)
    assert sum(contributions) == pytest.approx(two_way(blocks).se ** 2)


def counts(rng, runs=60, problems=150, n=8):
    """Chances of success with a known seed, problem and seed x problem spread, kept well within (0, 1)."""
    chance = 0.5 + rng.normal(0, 0.05, (runs, 1)) + rng.normal(0, 0.1, (1, problems))
    chance = np.clip(chance + rng.normal(0, 0.04, (runs, problems)), 0, 1)
    correct = rng.binomial(n, chance)
    return Counts(tuple(range(runs)), np.full_like(correct, n), correct)


def test_recovers_the_spreads_it_was_drawn_with():
    matrix = counts(np.random.default_rng(2))
    keyed = {("m", "grpo", "a"): matrix}
    arms = arms_of(keyed, "pass@1")
    sds, _ = components(arms["m", "grpo"].of("a"), list(sampling_of(keyed, "pass@1").values()))
    assert sds[:3] == pytest.approx([0.05, 0.1, 0.04], rel=0.25)
    assert sds[3] == pytest.approx(sqrt(0.235 / 8), rel=0.02)  # mean p (1 - p) is 0.25 less the chances' variance


def test_the_frame(tmp_path):
    rng = np.random.default_rng(0)
    keyed = {
        ("m", variant, benchmark): counts(rng, runs, 5)
        for variant, runs in (("base", 1), ("grpo", 3), ("ict-10", 1))
        for benchmark in ("a", "b")
    }
    metrics = ["pass@1", "pass@8", "total"]
    arms = {metric: arms_of(keyed, metric) for metric in metrics}
    sampling = {metric: sampling_of(keyed, metric) for metric in metrics}
    frame = component_frame(arms, sampling, {"m": ["base", "grpo", "ict-10"]}, {})
    write_frame(frame, tmp_path / "components.parquet", STATISTICS["components"])
    # one run cannot be split: the base model and ict-10 are left out
    assert set(frame["variant"]) == {"grpo"} and len(frame) == 3 * 3 * 4
    assert list(frame["source"][:4]) == SOURCES and list(frame["benchmark"].unique()) == ["a", "b", "average"]
    unknown = frame[frame["sd"].isna()]
    assert set(zip(unknown["metric"], unknown["source"], strict=True)) == {("pass@8", "sampling")}
    both = [sampling["total"]["m", "grpo", b] for b in ("a", "b")]
    found = frame[(frame["benchmark"] == "average") & (frame["metric"] == "total")]
    sds, contributions = components(arms["total"]["m", "grpo"].of("average"), both)
    assert found["sd"].tolist() == pytest.approx(sds) and found["contribution"].tolist() == pytest.approx(contributions)


def test_a_rerun_by_hand():
    first = Arm("m/grpo", (0, 1), {"a": np.array([[0.0, 1.0], [0.5, 0.5]]), "b": np.array([[0.25], [0.5]])})
    again = Arm("m/grpo-rerun", (0, 1), {"a": np.array([[0.0, 0.6], [0.5, 0.5]]), "b": np.array([[0.25], [0.5]])})
    # on a the runs' means are 0.5 and 0.3, 0.5 and 0.5; on b they are equal; the average's difference is half as large
    by_hand = {"a": 0.2**2 / 2 / 2, "b": 0, "average": 0.1**2 / 2 / 2}
    assert {name: rerun_variance(first, again, name) for name in by_hand} == pytest.approx(by_hand)
    # a rerun of one seed alone speaks by that seed
    one = Arm("m/grpo-rerun", (0,), {name: block[:1] for name, block in again.blocks.items()})
    assert rerun_variance(first, one, "a") == pytest.approx(0.2**2 / 2)


def test_the_spread_of_a_simulated_gpu_is_found_and_counted_once():
    rng = np.random.default_rng(11)
    runs, n, jitter = 400, 4, 0.03  # of a run's chances of success, anew in each rerun
    shared = 0.5 + rng.normal(0, 0.06, (runs, 1)) + rng.normal(0, 0.1, (1, 40))
    keyed, chances = {}, []
    for variant in ("grpo", "grpo-rerun"):
        chance = np.clip(shared + rng.normal(0, jitter, (runs, 1)), 0, 1)
        chances.append(chance)
        keyed["m", variant, "a"] = Counts(tuple(range(runs)), np.full_like(chance, n, int), rng.binomial(n, chance))
    arms = {"pass@1": arms_of(keyed, "pass@1")}
    sampling = {"pass@1": sampling_of(keyed, "pass@1")}
    shown = {"m": ["grpo", "grpo-rerun"]}
    frame = component_frame(arms, sampling, shown, {"grpo": "grpo-rerun"})
    plain = component_frame(arms, sampling, shown, {"grpo": "not-run"})
    pd.testing.assert_frame_equal(frame[frame["source"] != RERUN].reset_index(drop=True), plain)  # nothing else moves
    found = frame[(frame["source"] == RERUN) & (frame["benchmark"] == "a")]
    assert list(found["variant"]) == ["grpo"]
    # the oracle: half the mean square of the runs' differences, in plain sums; in expectation jitter and answers drawn
    ours, theirs = (keyed["m", v, "a"].correct.tolist() for v in ("grpo", "grpo-rerun"))
    squares = [(sum(a) / 40 / n - sum(b) / 40 / n) ** 2 for a, b in zip(ours, theirs, strict=True)]
    variance = sum(squares) / runs / 2
    assert found["sd"].iloc[0] == pytest.approx(sqrt(variance), rel=1e-12)
    assert found["contribution"].iloc[0] == pytest.approx(variance / runs, rel=1e-12)
    drawn = float(np.mean([c * (1 - c) for c in chances])) / n / 40
    assert variance == pytest.approx(jitter**2 + drawn, rel=0.15)
    seed = frame[(frame["source"] == "seed") & (frame["variant"] == "grpo") & (frame["benchmark"] == "a")]["sd"].iloc[0]
    assert seed == pytest.approx(sqrt(0.06**2 + jitter**2), rel=0.1) and seed > found["sd"].iloc[0]
