"""A bench of rules: its controls, and the claims that it adds to the ledger."""

from pathlib import Path
from types import SimpleNamespace

from ict_core.config import load_study
from ict_core.evidence import ArmVariation, claims_of, controls_of, declared_pairs, read_claims, rules_of

CONFIGS = Path(__file__).parents[2] / "configs"
CONTROL = ArmVariation("stare", "control", (("method.control", "—", "permuted-group"),), 9)
SCALED = ArmVariation("stare", "control", (("method.control", "—", "mean-one"),), 9)
DRAWN = ArmVariation("ict-10", "score", (("method.score", "js", "random"),), 9)
OTHER = ArmVariation("ict-10", "score", (("method.score", "js", "kl"),), 9)
PLAIN = ArmVariation("grpo", None, (), 9)


def settings(**arms):
    variants = ("grpo", *arms)
    arms = {name: arm for name, arm in arms.items() if name != "base"}
    return SimpleNamespace(arms=arms, variants=variants, baselines=("grpo",))


BENCH = settings(
    **{
        "stare": PLAIN,
        "stare-permuted": CONTROL,
        "stare-mean-one": SCALED,
        "ict-10": PLAIN,
        "random-10": DRAWN,
        "kl-10": OTHER,
    }
)


def test_controls_are_those_that_declare_it_and_as_many_tokens_at_random():
    found = {"stare-permuted": "stare", "stare-mean-one": "stare", "random-10": "ict-10"}
    assert controls_of(BENCH.arms) == found
    assert rules_of(BENCH) == ["stare", "ict-10", "kl-10"]


def test_a_study_without_a_declared_control_is_no_bench():
    plain = settings(**{"ict-10": PLAIN, "random-10": DRAWN})
    ledger = read_claims(CONFIGS / "claims.yaml")
    assert controls_of(plain.arms) == {} and rules_of(plain) == []
    assert claims_of(CONFIGS / "claims.yaml", plain) == [*ledger]


def test_every_rule_has_a_claim_over_the_baseline_and_one_over_each_control_in_two_families():
    ledger = read_claims(CONFIGS / "claims.yaml")
    claims = claims_of(CONFIGS / "claims.yaml", BENCH)
    own = claims[: -len(ledger)]
    assert claims[-len(ledger) :] == [*ledger]
    assert [(claim.family, claim.test.ours, *claim.test.against) for claim in own] == [
        ("rules-over-the-baseline", "stare", "grpo"),
        ("rules-over-the-baseline", "ict-10", "grpo"),
        ("rules-over-the-baseline", "kl-10", "grpo"),
        ("rules-over-their-controls", "stare", "stare-permuted"),
        ("rules-over-their-controls", "stare", "stare-mean-one"),
        ("rules-over-their-controls", "ict-10", "random-10"),
    ]
    assert {claim.test.metric for claim in own} == {"pass@4"} and {claim.test.direction for claim in own} == {"higher"}
    assert declared_pairs(claims)["ict-10", "grpo", "pass@4"] == "rules-over-the-baseline"


def test_the_bench_of_the_project_compares_every_rule_and_names_no_claim_twice():
    for name in ("rules", "rules-controls", "rules-two-updates"):
        study = load_study(CONFIGS / f"studies/{name}.yaml")
        arms = {
            variant: ArmVariation(
                method.ablation.of, method.ablation.factor, ((f"method.{method.ablation.factor}", "—", "random"),), 0
            )
            if method.ablation
            else PLAIN
            for variant, method in study.methods.items()
        }
        made = SimpleNamespace(arms=arms, variants=tuple(study.methods), baselines=tuple(study.baselines))
        claims = claims_of(CONFIGS / "claims.yaml", made)
        assert len({claim.id for claim in claims}) == len(claims)
        over = [claim for claim in claims if claim.family == "rules-over-the-baseline"]
        controlled = [claim for claim in claims if claim.family == "rules-over-their-controls"]
        assert len(over) + len(controlled) == len(study.methods) - 1 and controlled
        # the exact sign-flip can decide one of as many claims as the larger family has
        seeds = len({cell.seed for cell in study.cells() if cell.variant == "grpo"})
        assert 2 * 0.5**seeds * max(len(over), len(controlled)) < 0.05
