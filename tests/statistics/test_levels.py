"""Which interval a level has, by functions that `test_two_way.py`, `test_one_run.py` and `test_intervals.py` check."""

from dataclasses import replace
from math import isnan

import numpy as np
import pytest
from scipy import stats

from ict_core.statistics.arms import Arm, Counts
from ict_core.statistics.intervals import over_problems, over_runs, two_way_level, wilson
from ict_core.statistics.levels import base_variances, level_frame
from ict_core.statistics.schemas import GAIN, STATISTICS
from ict_core.store.records import write_frame

LEVELS = STATISTICS["levels"]
RNG = np.random.default_rng(3)
GRPO = Arm("m/grpo", (0, 1, 2), {"a": RNG.random((3, 5)), "b": RNG.random((3, 4))})
BASE = Arm("m/base", (0,), {"a": np.array([[1.0, 0, 0, 1, 1]]), "b": RNG.random((1, 4))})
FLAT = Arm("m/flat", (0, 1), {"a": np.zeros((2, 5)), "b": np.zeros((2, 4))})
ARMS = {"pass@1": {("m", "base"): BASE, ("m", "grpo"): GRPO, ("m", "flat"): FLAT}}
NOISES = {("m", name, "pass@1"): variance for name, variance in (("a", 0.004), ("b", 0.0025), ("average", 0.003))}


@pytest.fixture
def levels():
    return level_frame(ARMS, NOISES, {"m": ["base", "grpo", "flat"]}, frozenset({("m", "base", "a")}))


def row(levels, variant, benchmark):
    return levels[(levels["variant"] == variant) & (levels["benchmark"] == benchmark)].iloc[0]


def test_every_level_is_there_in_order(levels, tmp_path):
    assert list(levels["variant"].unique()) == ["base", "grpo", "flat"]
    assert list(levels["benchmark"]) == ["a", "b", "average"] * 3
    write_frame(levels, tmp_path / "levels.parquet", LEVELS)
    assert row(levels, "grpo", "average")[["seeds", "problems"]].tolist() == [3, 9]
    assert row(levels, "base", "a")[["seeds", "problems"]].tolist() == [1, 5]
    without_base = level_frame(ARMS, NOISES, {"m": ["base"]}, frozenset())
    write_frame(without_base, tmp_path / "base.parquet", LEVELS)


@pytest.mark.parametrize("benchmark", ["a", "b", "average"])
def test_several_runs_have_the_two_way_interval_and_one_over_seeds(levels, benchmark):
    found, blocks = row(levels, "grpo", benchmark), GRPO.of(benchmark)
    both = two_way_level(blocks)
    seeds = over_runs(np.mean([b.mean(axis=1) for b in blocks], axis=0)).of_share()
    assert found["interval"] == "two-way"
    assert found[["mean", "low", "high", "df"]].tolist() == pytest.approx(
        [float(v) for v in (both.mean, both.low, both.high, both.df)]
    )
    assert found[["seeds_low", "seeds_high"]].tolist() == pytest.approx([float(seeds.low), float(seeds.high)])


def test_one_run_has_an_interval_over_problems(levels):
    share, several, average = (row(levels, "base", b) for b in ("a", "b", "average"))
    assert share["interval"] == "wilson" and several["interval"] == average["interval"] == "problems"
    oracle = wilson(BASE.blocks["a"][0])
    assert (share["mean"], share["low"], share["high"]) == pytest.approx((0.6, float(oracle.low), float(oracle.high)))
    for found, blocks in ((several, BASE.of("b")), (average, BASE.of("average"))):
        oracle = over_problems([b[0] for b in blocks]).of_share()
        assert (found["low"], found["high"]) == pytest.approx((float(oracle.low), float(oracle.high)))
        assert isnan(found["seeds_low"]) and isnan(found["seeds_high"])


def test_a_run_s_gain_is_over_the_one_base_model(levels):
    found = row(levels, "grpo", "average")
    gains = GRPO.runs("average") - BASE.runs("average")[0]
    limits = stats.t.interval(0.95, 2, gains.mean(), np.sqrt(gains.var(ddof=1) / 3 + 0.003))
    assert found[list(GAIN)].tolist() == pytest.approx([gains.mean(), *limits])
    assert found["gain"] == pytest.approx(found["mean"] - row(levels, "base", "average")["mean"])
    assert row(levels, "base", "average")[list(GAIN)].isna().all()


def test_a_run_s_gain_is_over_the_base_model_of_its_seed():
    bases = Arm("m/base", (0, 1, 2, 3), {"a": RNG.random((4, 5)), "b": RNG.random((4, 4))})
    later = replace(GRPO, seeds=(1, 2, 3))
    arms = {"pass@1": {("m", "base"): bases, ("m", "grpo"): later}}
    found = row(level_frame(arms, {}, {"m": ["base", "grpo"]}, frozenset()), "grpo", "average")
    gains = later.runs("average") - bases.runs("average")[1:]
    limits = stats.t.interval(0.95, 2, gains.mean(), stats.sem(gains))
    assert found[list(GAIN)].tolist() == pytest.approx([gains.mean(), *limits])


def test_the_sampling_variance_of_a_base_model_is_its_problems_over_their_number():
    """4 of 8 right has p (1 - p) / 7 in pass@1, 8 of 8 none. Several base models vary with the runs: they have none."""
    one = Counts((0,), np.array([[8, 8]]), np.array([[4, 8]])), Counts((0,), np.array([[8]]), np.array([[2]]))
    several = Counts((0, 1), np.full((2, 2), 8), np.array([[4, 8], [1, 2]]))
    counts = {("m", "base", "a"): one[0], ("m", "base", "b"): one[1], ("n", "base", "a"): several}
    found = base_variances({**counts, ("m", "grpo", "a"): several}, ["pass@1"], None)
    a, b = 0.25 / 7 / 4, 0.25 * 0.75 / 7
    assert found == pytest.approx(
        {("m", "a", "pass@1"): a, ("m", "b", "pass@1"): b, ("m", "average", "pass@1"): (a + b) / 4}
    )


def test_values_without_spread_have_none(levels):
    found = row(levels, "flat", "average")
    assert found["interval"] == "none" and found["mean"] == 0
    assert all(isnan(found[name]) for name in ("low", "high", "df", "seeds_low", "seeds_high"))
