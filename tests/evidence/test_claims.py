"""The ledger's file: what it holds and what is refused; a bench of rules, its controls and the claims that it adds."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from ict_core.config.load import load_study
from ict_core.config.study_file import Primary
from ict_core.errors import UserError
from ict_core.evidence.bench import claims_of, controls_of, rules_of
from ict_core.evidence.claims import DifferenceTest, Largest, declared_pairs, read_claims
from ict_core.evidence.stored import ArmVariation

CONFIGS = Path(__file__).parents[2] / "configs"
LEDGER = CONFIGS / "claims.yaml"
TEST = "{kind: difference, ours: ict-10, against: [grpo], metric: pass@4, direction: higher}"
GOOD = f"""\
claims:
  - id: gain
    family: gains
    statement: A gain.
    source: somewhere
    test: {TEST}
"""


def test_the_projects_ledger_holds_what_the_paper_claims_and_the_referee_asks():
    claims = {claim.id: claim for claim in read_claims(LEDGER)}
    headlines = [claims[f"headline-{part}"] for part in ("abstract", "contributions", "section-4-2")]
    assert [claim.paper_points for claim in headlines] == [4.58, 4.37, 3.88]
    assert len({claim.test for claim in headlines}) == 3  # three framings are three tests
    tests = [claim.test for claim in claims.values()]
    assert {t.against for t in tests if isinstance(t, Largest)} == {("grpo",), ("entropy-20",), ("stapo",)}
    compared = {t.against[0] for t in tests if isinstance(t, DifferenceTest) and len(t.against) == 1}
    assert compared >= {"ict-5", "ict-20", "ict-30", "frequent-90"}
    assert compared >= {"random-10", "entropy-10", "kl-10", "wasserstein-10"}
    assert claims["pass4-gain-exceeds-pass1-gain"].test.minus_metric == "pass@1"
    assert claims["carry-over"].test.benchmarks == ("MMLU-STEM", "GPQA")


def test_declared_pairs_are_the_plain_differences_of_the_average():
    pairs = declared_pairs(read_claims(LEDGER))
    assert pairs["ict-10", "grpo", "pass@4"] == ("baselines", "headline")  # which has it as a part of a mean
    assert pairs["ict-10", "random-10", "pass@4"][0] == "score"
    assert not any("base" in pair for pair in pairs)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("metric: pass@4", "metric: pass@3", ["test.metric: 'pass@3'", "'pass@1', 'pass@4' or 'total'"]),
        ("against: [grpo]", "against: [grpo, stapo]", ["test.combine: null"]),
        ("direction: higher", "every_model: true, direction: equal", ["test.direction: 'equal'"]),
        ("against: [grpo]", "against: [base], minus_metric: pass@1", ["test.against: ['base']", "in one metric"]),
        ("against: [grpo]", "against: [grpo, base], combine: mean", ["test.against: ['grpo', 'base']", "base alone"]),
        ("kind: difference", "kind: diffrence", ["test.kind: 'diffrence'", "largest, measure"]),
        ("    source", "    sauce: x\n    source", ["sauce"]),
        ("    source", "    bound_with: loss\n    source", ["bound_with: 'loss'", "one of gain"]),
        ("    test: {", "    # {", ["needs: null"]),
        (TEST, "{kind: measure, quantity: elbwo, of: ict-10, direction: lower}", ["test.quantity: 'elbwo'"]),
        (TEST, "{kind: measure, quantity: elbow, of: ict-10}", ["test.direction: null"]),
        (TEST, "{kind: measure, quantity: elbow, of: ict-10, within: [0.2, 0.1]}", ["test.within: [0.2, 0.1]"]),
        ("claims:\n", f"{GOOD}", ["claims[1].id: 'gain'"]),
        ("    source", "    after: loss\n    source", ["after: 'loss'", "none in all claims of the family gains but"]),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path, old, new, words):
    assert GOOD.count(old) == 1
    (file := tmp_path / "claims.yaml").write_text(GOOD.replace(old, new))
    with pytest.raises(UserError) as caught:
        read_claims(file)
    assert [word for word in ["claims.yaml: claims[", *words] if word not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("after", "wrong"),
    [
        ((None, None, None), None),
        ((None, "c0", "c1"), None),
        ((None, None, "c0"), 2),  # Holm's procedure gives the level of c0 to c1, so that c2 cannot have it too
        ((None, "c0", "c0"), 2),  # both would have the whole level
        ((None, "c0", None), 2),
    ],
)
def test_a_family_is_tested_in_one_order_or_in_none(tmp_path, after, wrong):
    entries = [GOOD[8:].replace("gain\n", f"c{i}\n{f'    after: {of}' if of else ''}\n") for i, of in enumerate(after)]
    (file := tmp_path / "claims.yaml").write_text(f"claims:\n{''.join(entries)}")
    if wrong is None:
        assert [claim.after for claim in read_claims(file)] == [*after]
    else:
        with pytest.raises(UserError, match=rf"claims\[{wrong}\].after.*claim before it"):
            read_claims(file)


def arm(of, factor=None, *values):
    different = ((f"method.{factor}", *values),) if factor else ()
    return ArmVariation(of, factor, different, 9)


def settings(validity=None, primary=None, **arms):
    return SimpleNamespace(arms=arms, variants=("grpo", *arms), baselines=("grpo",), validity=validity, primary=primary)


ARMS = {
    "stare": arm("grpo"),
    "stare-permuted": arm("stare", "control", "—", "permuted-group"),
    "stare-mean-one": arm("stare", "control", "—", "mean-one"),
    "ict-10": arm("grpo"),
    "random-10": arm("ict-10", "score", "js", "random"),
    "kl-10": arm("ict-10", "score", "js", "kl"),
}
FEW = {name: ARMS[name] for name in ("ict-10", "random-10")}
BENCH = settings(**ARMS)


def test_controls_are_those_that_declare_it_and_as_many_tokens_at_random():
    assert controls_of(ARMS) == {"stare-permuted": "stare", "stare-mean-one": "stare", "random-10": "ict-10"}
    assert rules_of(BENCH) == ["stare", "ict-10", "kl-10"]


def test_a_study_without_a_declared_control_is_no_bench():
    plain = settings(**FEW)
    assert controls_of(plain.arms) == {} and rules_of(plain) == []
    assert claims_of(LEDGER, plain) == [*read_claims(LEDGER)]


def test_a_study_s_own_question_is_a_family_before_the_ledger_s():
    primary = Primary(metric="pass@1", comparisons=(("ict-10", "grpo"), ("ict-10", "random-10")))
    claims = claims_of(LEDGER, settings(primary=primary, **FEW))
    assert claims[2:] == [*read_claims(LEDGER)] and {claim.family for claim in claims[:2]} == {"primary"}
    tests = [DifferenceTest.model_validate(claim.test) for claim in claims[:2]]
    assert [(test.ours, test.against, test.metric, test.direction) for test in tests] == [
        ("ict-10", ("grpo",), "pass@1", "higher"),
        ("ict-10", ("random-10",), "pass@1", "higher"),
    ]
    assert declared_pairs(claims)["ict-10", "grpo", "pass@1"] == ("primary",)
    assert not {claim.id for claim in claims[:2]} & {claim.id for claim in claims[2:]}


def test_the_arms_of_gates_are_no_rules_and_the_oracle_s_control_makes_no_bench():
    names = {"replica": "grpo-replica", "random": "random-10", "oracle": "oracle", "oracle_control": "oracle-permuted"}
    validity = SimpleNamespace(**names)
    gates = {"grpo-replica": arm("grpo", "replica", 0, 1), "oracle": arm("grpo")}
    gates |= {"oracle-permuted": arm("oracle", "control", "—", "permuted-group")}
    few = settings(validity, **FEW, **gates)
    ledger = [*read_claims(LEDGER)]
    assert rules_of(few) == [] and claims_of(LEDGER, few) == ledger
    many = settings(validity, **ARMS, **gates)
    assert rules_of(many) == ["stare", "ict-10", "kl-10"]
    own = claims_of(LEDGER, many)[: -len(ledger)]
    assert not any("oracle" in claim.id or "replica" in claim.id for claim in own)
    without = {name: of for name, of in ARMS.items() if "10" not in name} | {"random-10": arm("grpo")}
    assert rules_of(settings(validity, **without, **gates)) == ["stare"]  # random tokens of no rule that was run


def test_every_rule_has_a_claim_over_the_baseline_and_one_over_each_control_in_two_families():
    ledger, claims = read_claims(LEDGER), claims_of(LEDGER, BENCH)
    own = claims[: -len(ledger)]
    assert claims[-len(ledger) :] == [*ledger]
    assert [(claim.family, claim.test.ours, *claim.test.against) for claim in own] == [
        *(("rules-over-the-baseline", rule, "grpo") for rule in ("stare", "ict-10", "kl-10")),
        ("rules-over-their-controls", "stare", "stare-permuted"),
        ("rules-over-their-controls", "stare", "stare-mean-one"),
        ("rules-over-their-controls", "ict-10", "random-10"),
    ]
    assert {(claim.test.metric, claim.test.direction) for claim in own} == {("pass@4", "higher")}
    assert declared_pairs(claims)["ict-10", "grpo", "pass@4"][0] == "rules-over-the-baseline"


@pytest.mark.parametrize("name", ["rules", "rules-two-updates"])
def test_the_bench_of_the_project_compares_every_rule_and_names_no_claim_twice(name):
    study = load_study(CONFIGS / f"studies/{name}.yaml")
    varied = {variant: method.ablation for variant, method in study.methods.items()}
    arms = {variant: arm(of.of, of.factor, "—", "random") if of else arm("grpo") for variant, of in varied.items()}
    own = {"variants": tuple(study.methods), "baselines": tuple(study.baselines)}
    made = SimpleNamespace(arms=arms, **own, validity=None, primary=None)
    claims = claims_of(LEDGER, made)
    assert len({claim.id for claim in claims}) == len(claims)
    over, controlled = (
        [claim for claim in claims if claim.family == family]
        for family in ("rules-over-the-baseline", "rules-over-their-controls")
    )
    assert len(over) + len(controlled) == len(study.methods) - 1 and controlled
    # the exact sign-flip can decide one of as many claims as the larger family has
    seeds = min(Counter(cell.variant for cell in study.cells()).values())
    assert 2 * 0.5**seeds * max(len(over), len(controlled)) < 0.05
