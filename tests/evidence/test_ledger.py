"""The ledger on a synthetic study: values by hand, Holm over what was tested, and what was not."""

import json
import math
from dataclasses import replace
from pathlib import Path

import figure_frames
import numpy as np
import pandas as pd
import pytest
import synthetic
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ict_core.evidence.claims import Claim, DifferenceTest, Largest, Measure, read_claims
from ict_core.evidence.ledger import LedgerFrames, as_json, ledger
from ict_core.evidence.measures import QUANTITIES, run_quantities
from ict_core.evidence.values import searched, values_of
from ict_core.statistics.arms import run_frame
from ict_core.statistics.deciding import CONTRADICTED, NOT_RESOLVED, NOT_TESTED, SUPPORTED
from ict_core.statistics.schemas import STATISTICS

LEDGER = Path(__file__).parents[2] / "configs" / "claims.yaml"
MIRRORS = {"mini-word": "GSM8K", "mini-symbolic": "MATH-500", "mini-stem": "MMLU-STEM", "mini-science": "GPQA"}


def runs(values: dict[tuple[str, str], list[float]], metric="pass@4", benchmark="average") -> pd.DataFrame:
    rows = [
        (model, variant, seed, benchmark, metric, value)
        for (model, variant), of_seeds in values.items()
        for seed, value in enumerate(of_seeds)
    ]
    return pd.DataFrame(rows, columns=list(STATISTICS["runs"]))


def difference(**more) -> DifferenceTest:
    settings = {"ours": "ict-10", "against": ("grpo",), "metric": "pass@4", "direction": "higher"} | more
    return DifferenceTest(kind="difference", **settings)


def claim(test, name="c", **more) -> Claim:
    return Claim(**{"id": name, "family": "f", "statement": "S.", "source": "here", "test": test} | more)


def values(test, frame):
    return {model: list(v.round(12)) for model, v in values_of(test, frame, pd.DataFrame(), MIRRORS).items()}


@pytest.fixture(scope="module")
def evidence():
    scores = synthetic.scores()
    return LedgerFrames(run_frame(scores), quantities(figure_frames.tokens()), MIRRORS)


def quantities(tokens):
    return run_quantities(list(QUANTITIES), synthetic.VARIANTS, synthetic.log(), tokens)


def test_values_are_paired_by_the_seeds_that_both_ran():
    frame = runs({("m", "ict-10"): [0.5, 0.7, 0.6, 0.9], ("m", "grpo"): [0.4, 0.5, 0.1], ("x", "grpo"): [0.1]})
    assert values(difference(), frame.sample(frac=1, random_state=2)) == {"m": [0.1, 0.2, 0.5]}


def test_base_stands_against_every_run():
    frame = runs({("m", "ict-10"): [0.5, 0.7], ("m", "base"): [0.4]})
    assert values(difference(against=("base",)), frame) == {"m": [0.1, 0.3]}


def test_several_baselines_are_averaged_or_the_strongest_counts():
    frame = runs({("m", "ict-10"): [0.5, 0.7], ("m", "grpo"): [0.4, 0.4], ("m", "stapo"): [0.2, 0.7]})
    both = {"against": ("grpo", "stapo")}
    assert values(difference(**both, combine="mean"), frame) == {"m": [0.2, 0.15]}
    assert values(difference(**both, combine="strongest"), frame) == {"m": [0.3, 0.0]}  # stapo: 0.45 > 0.40


def gains(ours, theirs, **where):
    return runs({("m", "ict-10"): [ours], ("m", "grpo"): [theirs]}, **where)


def test_the_gain_in_one_metric_less_the_gain_in_another():
    frame = pd.concat([gains(0.9, 0.5), gains(0.3, 0.2, metric="pass@1")])
    assert values(difference(minus_metric="pass@1"), frame) == {"m": [0.3]}
    assert values(difference(minus_metric="pass@1"), gains(0.9, 0.5)) == {}  # it was not measured


def test_benchmarks_are_named_by_the_papers_names():
    of = {"mini-stem": (0.9, 0.5), "mini-science": (0.4, 0.2), "mini-word": (0.0, 0.9)}
    frame = pd.concat([gains(*levels, benchmark=name) for name, levels in of.items()])
    assert values(difference(benchmarks=("MMLU-STEM", "GPQA")), frame) == {"m": [0.3]}
    assert values(difference(benchmarks=("AIME 2023",)), frame) == {}


def test_the_search_for_the_largest_runs_over_models_benchmarks_and_baselines(evidence):
    found = searched(Largest(kind="largest", ours="ict-10", against=("grpo", "stapo"), metric="pass@4"), evidence.runs)
    assert len(found) == 2 * 7 * 2 and all(len(gains) == 3 for gains in found.values())


def test_the_largest_of_one_seed_says_that_there_is_no_test():
    test = Largest(kind="largest", ours="ict-10", against=("grpo",), metric="pass@4")
    found = ledger([claim(test)], LedgerFrames(gains(0.9, 0.5, benchmark="b"), pd.DataFrame(), {}), 0.02, 0.8)[0]
    assert found.remark == "the clearest of 1: m, b, over grpo; one seed: there is no test"


def judged(test, frame, **more):
    (entry,) = ledger([claim(test, **more)], LedgerFrames(frame, pd.DataFrame(), {}), 0.02, 0.8)
    return entry


def test_a_smaller_loss_is_no_larger_gain():
    """ICT is 20 points below in pass@1, in pass@4 10 below or above: only the latter is a larger gain."""
    noise = np.array([0.0, 0.01, -0.01, 0.0])
    one = runs({("m", "ict-10"): list(0.3 + noise), ("m", "grpo"): [0.5] * 4}, metric="pass@1")
    found = {}
    for four in (0.5, 0.7):
        frame = pd.concat([one, runs({("m", "ict-10"): list(four - noise), ("m", "grpo"): [0.6] * 4})])
        found[four] = judged(difference(minus_metric="pass@1"), frame)
    assert found[0.5].outcome.estimate == pytest.approx(0.1) and found[0.7].outcome.estimate == pytest.approx(0.3)
    assert (found[0.5].verdict, found[0.7].verdict) == (NOT_RESOLVED, SUPPORTED)
    assert found[0.5].p_adjusted == 1 and "10.0 points" in found[0.5].remark and math.isnan(found[0.5].detectable)
    of_gain = stats.ttest_1samp(0.1 - noise, 0).pvalue
    assert found[0.7].p_adjusted == pytest.approx(of_gain)  # the larger of the two: that of 30 points is smaller


@pytest.mark.parametrize(
    ("level", "claimed", "verdict"),
    [
        (0.90, None, CONTRADICTED),
        (0.99, None, NOT_RESOLVED),
        (0.95, 4.0, CONTRADICTED),
        (0.97, 4.0, NOT_RESOLVED),
    ],
)
def test_equivalence_contradicts_no_effect_that_has_no_room(level, claimed, verdict):
    frame = runs({("m", "ict-10"): [level, level + 0.002, level - 0.002, level], ("m", "grpo"): [level] * 4})
    entry = judged(difference(), frame, paper_points=claimed)
    assert entry.verdict == verdict and ("from the limit" in entry.remark) == (verdict == NOT_RESOLVED)
    low = judged(difference(direction="lower"), frame, paper_points=claimed)  # there is room below
    assert low.verdict == CONTRADICTED


def test_an_arm_with_few_seeds_is_named():
    frame = runs({("m", "ict-10"): [0.5, 0.7, 0.6], ("m", "grpo"): [0.4, 0.5, 0.1], ("m", "stapo"): [0.4, 0.5]})
    both = difference(against=("grpo", "stapo"), combine="mean")
    assert "2 of 3 seeds" in judged(both, frame).remark
    assert "seeds of" not in judged(difference(), frame).remark
    based = pd.concat([frame, runs({("m", "base"): [0.3]})])
    assert "seeds of" not in judged(difference(against=("base",)), based).remark


@pytest.fixture(scope="module")
def entries(evidence):
    """The project's whole ledger."""
    return ledger(read_claims(LEDGER), evidence, 0.02, 0.8)


@pytest.mark.slow
def test_holm_runs_over_the_tested_claims_of_a_family_alone(entries):
    tested = [e for e in entries if e.outcome.seeds]
    assert 15 < len(tested) < len(entries)
    for family in {e.claim.family for e in tested} - {"headline"}:
        members = [e for e in tested if e.claim.family == family]
        for raw, adjusted in (("p", "p_adjusted"), ("p_equivalence", "p_equivalence_adjusted")):
            p = np.array([getattr(e.outcome, raw) for e in members])
            found = [getattr(e, adjusted) for e in members]
            oracle = multipletests(np.nan_to_num(p, nan=1.0), method="holm")[1]
            np.testing.assert_allclose(found, np.where(np.isnan(p), np.nan, oracle), atol=1e-12)
    headline = [e for e in tested if e.claim.family == "headline"]
    assert [e.p_adjusted for e in headline] == np.maximum.accumulate([e.outcome.p for e in headline]).tolist()


@pytest.mark.slow
def test_what_the_study_did_not_run_or_know_is_named(evidence, entries):
    found = {e.claim.id: e for e in entries}
    assert (found["beats-kl"].verdict, found["beats-kl"].remark) == (NOT_TESTED, "without kl-10")
    assert (found["branching-points"].unit, found["branching-points"].outcome.seeds) == ("share of the known forks", 3)
    assert list(found["gain-over-grpo"].by_model) == ["tiny", "small"] and found["gain-over-grpo"].outcome.seeds == 3
    other_sets = replace(evidence, mirrors={"one-step": "word problems"}, outside=())
    (carried,) = ledger([found["carry-over"].claim], other_sets, 0.02, 0.8)
    assert carried.verdict == NOT_TESTED and "MMLU-STEM, GPQA" in carried.remark
    (needing,) = ledger([claim(None, needs="a model")], evidence, 0.02, 0.8)
    assert (needing.verdict, needing.remark) == (NOT_TESTED, "needs a model")
    unknown = replace(evidence, quantities=quantities(figure_frames.tokens().assign(fork=float("nan"))))
    (forks,) = ledger([found["branching-points"].claim], unknown, 0.02, 0.8)
    assert forks.verdict == NOT_TESTED and "forks" in forks.remark
    json.dumps(as_json(entries), allow_nan=False)


def test_verdicts():
    noise = np.array([0.0, 0.001, -0.001, 0.0005, -0.0005])

    def entry(mean, **more):
        """Of two models whose every paired difference lies close to the mean."""
        arms = {(m, "grpo"): [0.5] * 5 for m in "ab"} | {(m, "ict-10"): 0.5 + mean + noise for m in "ab"}
        study = LedgerFrames(runs(arms), pd.DataFrame(), MIRRORS)
        return ledger([claim(difference(), **more)], study, 0.02, 0.8)[0]

    assert entry(0.05).verdict == SUPPORTED and entry(-0.05).verdict == CONTRADICTED == entry(0.0).verdict
    inside = entry(0.0, paper_points=4.6)
    assert inside.verdict == CONTRADICTED and inside.remark == "within 2 points of 0"
    assert entry(0.0, paper_points=1.5).verdict == "not resolved"  # the margin is wider than what the paper claims


def test_seeds_needed_falls_with_the_claimed_effect(evidence):
    few, many = (
        ledger([claim(difference(against=("entropy-20",)), paper_points=p)], evidence, 0.02, 0.8)[0].seeds_needed
        for p in (15.0, 1.0)
    )
    assert 2 <= few < many


@pytest.mark.slow
def test_a_run_without_the_quantity_leaves_the_claim_open(evidence):
    test = Measure(kind="measure", quantity="probability_of_kept", of="ict-10", within=(0.1, 0.3))
    tokens = figure_frames.tokens()
    late = quantities(tokens.assign(selecting=tokens["seed"] != 2))
    entry = ledger([claim(test)], replace(evidence, quantities=late), 0.02, 0.8)[0]
    assert entry.verdict == "not resolved" and entry.remark.startswith("not every run")
    assert math.isnan(entry.outcome.p) and math.isnan(entry.seeds_needed)


def of_every_model(b):
    """The entry of a claim about every model, with differences of 2, 3, 4 points in one and `b` in another."""
    arms = {("a", "grpo"): [0.5] * 3, ("a", "ict-10"): [0.52, 0.53, 0.54], ("b", "grpo"): [0.5] * 3}
    arms |= {("b", "ict-10"): [0.5 + gap for gap in b]} if b else {}
    study = LedgerFrames(runs(arms), pd.DataFrame(), MIRRORS)
    return ledger([claim(difference(every_model=True))], study, 0.02, 0.8)[0]


def test_a_claim_about_every_model_has_no_test_where_one_model_has_one_seed():
    entry = of_every_model([0.06])
    assert entry.outcome.seeds == 1 and entry.remark.startswith("one seed")
    assert math.isnan(entry.detectable) and math.isnan(entry.seeds_needed)


def test_a_claim_about_the_mean_of_models_is_tested_without_one_that_has_one_seed():
    values = {
        ("a", "ict-10"): [0.5, 0.7, 0.6],
        ("a", "grpo"): [0.4, 0.5, 0.3],
        ("b", "ict-10"): [0.9],
        ("b", "grpo"): [0.1],
    }
    entry = judged(difference(), runs(values))
    assert list(entry.by_model) == ["a"] and entry.outcome.seeds == 3 and "without b" in entry.remark


ONE_BEYOND = {  # two models, of which one has a single run of each arm
    ("a", "ict-10"): [0.5, 0.7, 0.6, 0.65],
    ("a", "grpo"): [0.4, 0.5, 0.3, 0.45],
    ("b", "ict-10"): [0.99],
    ("b", "grpo"): [0.98],
}


def test_a_model_of_one_seed_does_not_come_back():
    """Neither as part of a gain in one metric, nor as room above the baseline, nor as the largest gain."""
    both = pd.concat(
        [runs(ONE_BEYOND), runs({k: [v / 2 for v in of] for k, of in ONE_BEYOND.items()}, metric="pass@1")]
    )
    both = pd.concat([both, runs(ONE_BEYOND, benchmark="b")])
    largest = Largest(kind="largest", ours="ict-10", against=("grpo",), metric="pass@4")
    for test in (difference(minus_metric="pass@1"), difference(), largest):
        found, alone = judged(test, both).outcome, judged(test, both[both["model"] == "a"]).outcome
        assert found.p == alone.p and found.estimate == alone.estimate
        assert found.p_equivalence == pytest.approx(alone.p_equivalence, nan_ok=True)


def test_models_that_differ_in_sign_are_named():
    arms = {
        ("a", "ict-10"): [0.56, 0.57],
        ("b", "ict-10"): [0.44, 0.46],
        ("a", "grpo"): [0.5] * 2,
        ("b", "grpo"): [0.5] * 2,
    }
    assert "a +6.5, b -5.0" in judged(difference(), runs(arms)).remark


def test_a_gain_over_one_base_model_has_the_error_of_its_sample():
    frame = runs({("m", "ict-10"): [0.60, 0.61, 0.62], ("m", "base"): [0.5]})
    over_base = claim(difference(against=("base",)))
    own, shared = (
        ledger([over_base], LedgerFrames(frame, pd.DataFrame(), {}, base=base), 0.02, 0.8)[0]
        for base in ({}, {("m", "average", "pass@4"): 0.0004})
    )
    assert own.outcome.high - own.outcome.estimate == pytest.approx(stats.t.ppf(0.975, 2) * 0.01 / math.sqrt(3))
    se = math.sqrt(0.0001 / 3 + 0.0004)
    assert shared.outcome.high - shared.outcome.estimate == pytest.approx(stats.t.ppf(0.975, 2) * se)
    assert shared.outcome.p == pytest.approx(2 * stats.t.sf(0.11 / se, 2))


def test_models_without_both_arms_are_named():
    assert "without b" in of_every_model([]).remark
    assert "without" not in of_every_model([0.02, 0.06, 0.03]).remark


def test_a_pair_of_runs_of_which_one_has_no_value_leaves_the_claim_open():
    """Differences of 0.4, 0.5 and 0.6, and one unknown; a seed that one arm alone ran is no pair."""
    arms = {"ict-10": [0.5, 0.7, 0.7, math.nan], "random-10": [0.1, 0.2, 0.1, 0.1, 0.3]}
    rows = [("m", arm, seed, "elbow", value) for arm, of in arms.items() for seed, value in enumerate(of)]
    table = pd.DataFrame(rows, columns=["model", "variant", "seed", "quantity", "value"])
    test = Measure(kind="measure", quantity="elbow", of="ict-10", minus="random-10", direction="higher")

    def entry(quantities):
        return ledger([claim(test)], LedgerFrames(runs({}), quantities, {}), 0.02, 0.8)[0]

    unknown, known = entry(table), entry(table[(table["seed"] != 3) | (table["variant"] != "ict-10")])
    assert (unknown.verdict, unknown.outcome.seeds) == ("not resolved", 4) and unknown.remark.startswith("not every")
    assert (known.verdict, known.outcome.seeds) == (SUPPORTED, 3) and known.outcome.estimate == pytest.approx(0.5)
