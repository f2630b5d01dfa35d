"""The table of a bench of rules."""

import pandas as pd
import table_frames as made
from statsmodels.stats.power import TTestPower

from ict_core.evidence.stored import ArmVariation
from ict_core.statistics.schemas import GAIN, RANKS, STATISTICS
from ict_core.store.records import TUNING
from ict_core.tables.bench import bench_table

ARMS = {
    "stare": ArmVariation("grpo", None, (("method.selector", "grpo", "stare"),), 40),
    "stare-permuted": ArmVariation("stare", "control", (("method.control", "—", "permuted-group"),), 50),
    "stare-mean-one": ArmVariation("stare", "control", (("method.control", "—", "mean-one"),), 50),
    "nsr": ArmVariation("grpo", None, (("method.selector", "grpo", "sign"),), 40),
}
LEVELS = made.levels(
    ("tiny", "base", "average", "pass@4", 0.10, 0.05, 0.15),
    ("tiny", "grpo", "average", "pass@4", 0.50, 0.47, 0.53),
    ("tiny", "stare", "average", "pass@4", 0.40, 0.37, 0.43),
    ("tiny", "stare-permuted", "average", "pass@4", 0.35, 0.30, 0.40),
    ("tiny", "stare-mean-one", "average", "pass@4", 0.42, 0.40, 0.44),
    ("tiny", "nsr", "average", "pass@4", 0.45, 0.42, 0.48),
)


def pair(variant, baseline, difference, verdict, half=0.02):
    limits = {"difference": difference, "low": difference - half, "high": difference + half}
    return made.contrast(variant, baseline, "pass@4", verdict=verdict, p_adjusted=0.01, **limits)


LEVELS.loc[LEVELS["variant"] == "stare", GAIN] = 0.04, 0.03, 0.05
TESTS = made.contrasts(
    pair("stare", "grpo", -0.10, "worse"),
    pair("stare-permuted", "stare", -0.05, "worse"),  # turned: the rule is better than its control
    pair("stare", "stare-mean-one", -0.02, "none seen"),
    pair("nsr", "grpo", -0.05, "not confirmed", 0.06),
    pair("stare-permuted", "grpo", -0.15, "worse"),
)
SHARED = made.contrasts(pair("stare", "grpo", -0.30, "worse"), pair("nsr", "grpo", 0.0, "identical"))
ranks = [("grpo", 1, 1, 2), ("nsr", 2, 1, 2), ("stare", 3, 3, 3)]
FRAMES = {
    "levels": LEVELS,
    "contrasts": TESTS,
    "shared_rate_contrasts": SHARED,
    "ranks": pd.DataFrame([("tiny", v, "pass@4", *three, 3, 3) for v, *three in ranks], columns=list(RANKS)),
    "tuning": pd.DataFrame(
        [("tiny", "stare", 1e-4, 900, 0.2, True), ("tiny", "stare", 3e-4, 900, 0.1, False)], columns=list(TUNING)
    ),
    "log": pd.DataFrame(
        [("tiny", "stare", False, 1.0), ("tiny", "stare", True, 0.2), ("tiny", "stare", True, 0.4)],
        columns=["model", "variant", "selecting", "kept_share"],
    ),
    "quantity_means": pd.DataFrame(
        [("tiny", "stare", "h1_change", -0.25, -0.3, -0.2, 3), ("tiny", "stare", "elbow", 9.0, 9.0, 9.0, 3)],
        columns=list(STATISTICS["quantity_means"]),
    ),
    "rule_means": pd.DataFrame(
        [("tiny", "grpo", "stare", "positive_share", 0.6, 0.5, 0.7, 3)], columns=list(STATISTICS["rule_means"])
    ),
}


def bench(arms=ARMS, whole=None, chooses_rates=True, **frames):
    """The table of GRPO and of these arms, of a study with these settings."""
    settings = made.settings(("grpo", *arms), ("grpo",), arms=arms, whole=whole or {}, chooses_rates=chooses_rates)
    return bench_table(**FRAMES | frames, settings=settings)


def test_a_rule_stands_beside_the_baseline_and_its_controls_at_both_rates():
    table = bench()
    assert table.readable.columns.tolist() == [
        *("model", "rule", "own rate", "pass@4", "Δ base", "Δ grpo", "Δ random", "Δ mean one"),
        *("Δ grpo, shared rate", "rank", "effective share", "A > 0", "ΔH1 (%)"),
    ]
    assert table.readable.to_numpy().tolist() == [
        ["tiny", "nsr", "0.0003", "45.0 ± 3.0", "—", "−5.0 ± 6.0", "—", "—", "identical", "2 (1–2)", "—", "—", "—"],
        [
            *("tiny", "stare", "0.0001", "40.0 ± 3.0", "+4.0 ± 1.0", "−10.0 ± 2.0 ↓", "+5.0 ± 2.0 ↑", "−2.0 ± 2.0"),
            *("−30.0 ± 2.0 ↓", "3 (3–3)", "30.0", "60.0", "−25"),
        ],
    ]
    assert "Rank of 3" in table.caption and "±2.0 points" in table.caption
    assert "tests would find" not in table.caption  # no spread is known


def test_only_rules_with_chosen_rates_are_said_to_have_their_own():
    assert "at its own learning rate" in bench().caption
    assert "own learning rate" not in bench(chooses_rates=False).caption


def test_each_model_has_its_best_rule_first():
    other = LEVELS.assign(model="small", mean=1 - LEVELS["mean"])
    frames = {"levels": pd.concat([LEVELS, other]), "contrasts": pd.concat([TESTS, TESTS.assign(model="small")])}
    rules = bench(**frames).readable[["model", "rule"]].to_numpy().tolist()
    assert rules == [["tiny", "nsr"], ["tiny", "stare"], ["small", "stare"], ["small", "nsr"]]


def test_two_controls_at_random_stand_in_one_cell():
    arms = ARMS | {"stare-shuffled": ArmVariation("stare", "control", (("method.control", "—", "permuted-batch"),), 50)}
    tests = pd.concat([TESTS, made.contrasts(pair("stare", "stare-shuffled", 0.03, "none seen"))])
    assert bench(arms, contrasts=tests).readable["Δ random"].tolist() == ["—", "+5.0 ± 2.0 ↑; +3.0 ± 2.0"]


def test_a_study_that_states_them_has_a_column_of_the_rules_sources():
    table, plain = bench(whole={"sources": {"grpo": "code", "stare": "code"}}), bench()
    assert table.readable["source"].tolist() == ["—", "code"]
    assert table.numbers["source"].isin(["—", "code"]).all() and "source" not in plain.numbers
    pd.testing.assert_frame_equal(table.readable.drop(columns="source"), plain.readable)


def test_the_smallest_gain_that_would_be_found_stands_in_the_caption():
    spread = {"stare": 0.01, "nsr": 0.03}
    caption = bench(contrasts=TESTS.assign(sd=TESTS["variant"].map(spread), seeds=12)).caption
    each = TTestPower().solve_power(nobs=12, alpha=0.05 / 2, power=0.8)  # of a standard deviation, two rules
    low, high = 100 * each * 0.01, 100 * each * 0.03
    assert f"{(low + high) / 2:.1f} points, the median over the rules ({low:.1f} to {high:.1f})" in caption


def test_a_control_of_one_sign_has_a_column_of_its_own():
    key = (("method.control", "—", "permuted-batch-same-sign"),)
    arms = ARMS | {"nsr-same-sign": ArmVariation("nsr", "control", key, 50)}
    tests = pd.concat([TESTS, made.contrasts(pair("nsr", "nsr-same-sign", 0.01, "better"))])
    table = bench(arms, contrasts=tests)
    assert table.readable.columns.tolist()[6:9] == ["Δ random", "Δ random, same sign", "Δ mean one"]
    assert table.readable["Δ random, same sign"].tolist() == ["+1.0 ± 2.0 ↑", "—"]
    assert "among its tokens with A > 0" in table.caption
    assert "same sign" not in bench().caption


def test_a_rule_by_another_denominator_keeps_the_tokens_of_the_first():
    differs = (("method.normaliser", "response", "batch_kept"),)
    # as well where both are variants of a rule that the study does not run, and so stand beside the baseline
    other = (("method.selector", "grpo", "stare"), *differs)
    for arm in (ArmVariation("stare", "normaliser", differs, 40), ArmVariation("grpo", None, other, 39)):
        assert bench(ARMS | {"nsr": arm}).readable["A > 0"].tolist() == ["60.0", "60.0"]


def test_a_rule_with_an_advantage_of_its_own_was_not_measured_by_the_baseline_s():
    differs = (("method.selector", "grpo", "stare"), ("method.advantage", "—", "reward"))
    found = bench(ARMS | {"stare": ArmVariation("grpo", None, differs, 39)})
    assert found.readable["A > 0"].tolist() == ["—", "—"]


def test_a_study_without_controls_is_no_bench():
    table = bench({"stare": ARMS["stare"]})
    assert table.readable.empty and "it is no bench" in table.caption
