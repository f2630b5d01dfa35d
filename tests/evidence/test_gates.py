"""The gates of a study's validity: each passed and failed by hand, its numbers against scipy's."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from ict_core.config.study_file import Validity
from ict_core.evidence.gates import FAILED, NOT_MEASURED, PASSED, failed, gates
from ict_core.statistics.schemas import STATISTICS

VALIDITY = Validity(
    baseline="grpo",
    replica="grpo-replica",
    random="random-10",
    oracle="oracle-decisions",
    oracle_control="oracle-decisions-permuted",
    gain_points=15,
    gain_lower_points=10,
    ceiling_percent=100,
    below_ceiling_points=10,
    kept_share=0.7,
    kept_share_lower=0.5,
    compared="pass@4",
)
BASES = np.array([0.30, 0.34, 0.28, 0.32, 0.31, 0.29])
NOISE = np.array([0.010, -0.012, 0.004, -0.006, 0.008, -0.003])
GOOD = {  # six seeds, each with a base model of its own
    "base": BASES,
    "grpo": BASES + 0.20 + NOISE,
    "grpo-replica": BASES + 0.201 + NOISE[::-1],
    "random-10": BASES + 0.16 + NOISE[::-1] / 2,
    "oracle-decisions": BASES + 0.22 + NOISE / 2,
    "oracle-decisions-permuted": BASES + 0.15 - NOISE,
}


def runs(arms, model="m", pass_at_4=None):
    """pass@1 of every run, and pass@4 the same but for the arms given."""
    rows = [
        (model, variant, seed, benchmark, metric, value)
        for metric, of in (("pass@1", arms), ("pass@4", arms | (pass_at_4 or {})))
        for variant, values in of.items()
        for seed, value in enumerate(values)
        for benchmark in ("average", "mini-word")
    ]
    frame = pd.DataFrame(rows, columns=list(STATISTICS["runs"]))
    frame.loc[frame["benchmark"] == "mini-word", "value"] = 0.5  # no gate looks at a single benchmark
    return frame


def outcomes(frame, validity=VALIDITY, margin=0.02):
    return {gate.gate: gate for gate in gates(validity, frame, margin)}


def t_interval(values):
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    return pytest.approx((np.mean(values), low, high), rel=1e-9)


def numbers(gate):
    return gate.value, gate.low, gate.high


def test_every_gate_is_passed_with_the_numbers_of_scipy():
    found = outcomes(runs(GOOD))
    assert {(gate.outcome, gate.because, gate.seeds) for gate in found.values()} == {(PASSED, "", 6)}
    assert len(found) == 5 and failed([*found.values()]) == {}
    assert found["kept"].arms == "random-10, grpo, base"
    grpo, base = GOOD["grpo"], GOOD["base"]
    assert numbers(found["gain"]) == t_interval(grpo - base)
    assert found["ceiling"].value == pytest.approx(grpo.mean())
    ours, theirs = GOOD["random-10"] - base, grpo - base
    edges = (
        optimize.brentq(lambda r: stats.ttest_1samp(ours - r * theirs, 0).pvalue - 0.05, *limits)
        for limits in ((0.3, ours.mean() / theirs.mean()), (ours.mean() / theirs.mean(), 2))
    )
    assert numbers(found["kept"]) == pytest.approx((ours.mean() / theirs.mean(), *edges), rel=1e-9)
    gap = GOOD["grpo-replica"] - grpo
    assert numbers(found["replica"]) == t_interval(gap)
    limits = ((-0.02, "greater"), (0.02, "less"))
    sides = [stats.ttest_1samp(gap, limit, alternative=side).pvalue for limit, side in limits]
    assert found["replica"].p == pytest.approx(max(sides), rel=1e-9)
    win = GOOD["oracle-decisions"] - GOOD["oracle-decisions-permuted"]
    assert numbers(found["oracle"]) == t_interval(win)
    assert found["oracle"].p == pytest.approx(stats.ttest_1samp(win, 0).pvalue, rel=1e-9)


FAULTS = {  # with the gates that fail
    "gains 14 points": ({"grpo": BASES + 0.14 + NOISE, "grpo-replica": BASES + 0.14 + NOISE[::-1]}, ["gain"]),
    "gains 20 points, by three seeds of six": (
        {"grpo": BASES + np.array([0, 0.01, 0.02, 0.4, 0.39, 0.38]) + NOISE},
        ["gain", "kept", "replica"],
    ),
    "ends at 91": ({"base": BASES + 0.4, "grpo": np.full(6, 0.91) + NOISE / 10}, ["ceiling", "kept", "replica"]),
    "keeps 0.6": ({"random-10": BASES + 0.12 + NOISE[::-1] / 2}, ["kept"]),
    "keeps 0.8, at times": ({"random-10": BASES + np.array([0.4, 0.3, 0.01, 0.02, 0.2, 0.03])}, ["kept"]),
    "no gain": ({"grpo": BASES + 4 * NOISE, "random-10": BASES + 0.1 + NOISE[::-1]}, ["gain", "kept", "replica"]),
    "replica is noisy": ({"grpo-replica": BASES + 0.2 + 4 * NOISE[::-1]}, ["replica"]),
    "replica is the same run": ({"grpo-replica": GOOD["grpo"]}, ["replica"]),
    "oracle is not resolved": ({"oracle-decisions": BASES + 0.15 + 4 * NOISE}, ["oracle"]),
    "random is the baseline": ({"random-10": GOOD["grpo"]}, ["kept"]),
    "oracle loses": ({"oracle-decisions": BASES + 0.05 + NOISE / 2}, ["oracle"]),
}
REASONS = {
    "random is the baseline": ("kept", "the same share in every run"),
    "replica is the same run": ("replica", "the same in every run"),
    "no gain": ("kept", "does not differ from 0"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_gate_fails_for_its_own_reason(name):
    changed, expected = FAULTS[name]
    found = outcomes(runs(GOOD | changed))
    assert [gate.gate for gate in found.values() if gate.outcome == FAILED] == expected
    assert all((gate.because != "") == (gate.outcome == FAILED) for gate in found.values())
    gate, reason = REASONS.get(name, (expected[0], ""))
    assert reason in found[gate].because
    assert failed([*found.values()]) == {"m": f"failed gates of m: {', '.join(expected)}"}


def test_the_bounds_are_those_of_the_study():
    frame = runs(GOOD)
    assert outcomes(frame, VALIDITY.changed(gain_points=20.1))["gain"].outcome == FAILED
    lower = outcomes(frame)["gain"].low
    for bound, outcome in ((100 * lower - 0.01, PASSED), (100 * lower + 0.01, FAILED)):
        assert outcomes(frame, VALIDITY.changed(gain_points=20.0, gain_lower_points=bound))["gain"].outcome == outcome
    assert outcomes(frame, VALIDITY.changed(ceiling_percent=60.0))["ceiling"].outcome == FAILED
    assert outcomes(frame, VALIDITY.changed(kept_share=0.85))["kept"].outcome == FAILED
    assert outcomes(frame, margin=0.002)["replica"].outcome == FAILED
    alike = {name: np.full(6, 0.6) + NOISE for name in ("oracle-decisions", "oracle-decisions-permuted")}
    one = {"oracle-decisions": alike["oracle-decisions"] + NOISE[::-1]}
    of_pass_at_4 = runs(GOOD, pass_at_4=alike | one)
    assert outcomes(of_pass_at_4)["oracle"].outcome == FAILED
    assert outcomes(of_pass_at_4, VALIDITY.changed(compared="pass@1"))["oracle"].outcome == PASSED


def test_a_gate_whose_arms_did_not_run_is_not_measured_and_names_them():
    left = {name: values for name, values in GOOD.items() if name in ("base", "grpo", "random-10")}
    found = outcomes(runs(left))
    assert [found[name].outcome for name in ("gain", "ceiling", "kept")] == [PASSED] * 3
    assert (found["replica"].outcome, found["replica"].because) == (NOT_MEASURED, "without grpo-replica")
    assert found["oracle"].because == "without oracle-decisions, oracle-decisions-permuted"
    assert np.isnan(found["oracle"].value) and found["oracle"].model == "" and failed([*found.values()]) == {}


def test_each_model_has_gates_of_its_own():
    large = {n: GOOD[n] for n in ("base", "random-10")} | {"grpo": BASES + NOISE}
    found = gates(VALIDITY, pd.concat([runs(GOOD), runs(large, "large")]), 0.02)
    told = [(gate.gate, gate.model, gate.outcome) for gate in found]
    assert ("gain", "m", PASSED) in told and ("gain", "large", FAILED) in told
    assert [row for row in told if row[0] == "replica"] == [
        ("replica", "m", PASSED),
        ("replica", "large", NOT_MEASURED),
    ]
    assert failed(found) == {"large": "failed gates of large: gain, kept"}


def test_one_run_passes_no_gate_but_the_ceiling_and_one_base_model_stands_against_all_runs():
    found = outcomes(runs({name: values[:1] for name, values in GOOD.items()}))
    assert [gate.outcome for gate in found.values()] == [FAILED, PASSED, FAILED, FAILED, FAILED]
    assert "one run" in found["gain"].because
    alone = outcomes(runs({arm: values[:1] for arm, values in (GOOD | {"grpo": GOOD["grpo"] + 0.6}).items()}))
    assert alone["ceiling"].outcome == FAILED and "one run" not in alone["ceiling"].because
    found = outcomes(runs(GOOD | {"base": BASES[:1]}))
    assert numbers(found["gain"]) == t_interval(GOOD["grpo"] - BASES[0])


def test_one_base_model_s_sampling_error_widens_the_gain_and_the_share_kept():
    """Its variance is added to those of both gains and to their covariance, as both are less the same base model."""
    one = runs({name: values for name, values in GOOD.items() if name != "base"} | {"base": [0.3]})
    noise = 0.02**2
    own, shared = (
        {gate.gate: gate for gate in gates(VALIDITY, one, 0.02, base)}
        for base in ({}, {("m", "average", "pass@1"): noise})
    )
    grpo, random = GOOD["grpo"] - 0.3, GOOD["random-10"] - 0.3
    t = stats.t.ppf(0.975, 5)
    assert shared["gain"].high - shared["gain"].value == pytest.approx(t * np.sqrt(grpo.var(ddof=1) / 6 + noise))
    assert own["gain"].high - own["gain"].value == pytest.approx(t * np.sqrt(grpo.var(ddof=1) / 6))
    (v_ours, both), (_, v_theirs) = np.cov(random, grpo) / 6 + noise

    def excess(r):  # of the squared t statistic of ours - r theirs
        return (random.mean() - r * grpo.mean()) ** 2 - t**2 * (v_ours - 2 * r * both + r**2 * v_theirs)

    middle = random.mean() / grpo.mean()
    limits = optimize.brentq(excess, 0.01, middle), optimize.brentq(excess, middle, 2)
    assert (shared["kept"].low, shared["kept"].high) == pytest.approx(limits)
    assert {name for name in own if own[name][4:8] != shared[name][4:8]} == {"gain", "kept"}
