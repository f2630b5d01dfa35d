"""The claims that a study adds to the ledger: those of its own question, and of a bench of rules with controls."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ict_core.config.study_file import Validity
from ict_core.evidence.claims import Claim, DifferenceTest, read_claims
from ict_core.evidence.stored import ArmVariation, Settings
from ict_core.statistics.schemas import Metric

OVER_BASELINE, OVER_CONTROLS = "rules-over-the-baseline", "rules-over-their-controls"
"""The two families of a bench's claims, each with its own Holm correction."""
PRIMARY = "primary"  # the family of the study's own question

MEAN_ONE = "mean-one"  # the control whose weights are the rule's divided by their mean; all others are at random
SAME_SIGN = "-same-sign"  # ends the name of a control at random among tokens with the same sign of A
BENCH_METRIC: Metric = "pass@4"  # in which rules are compared


def controls_of(arms: Mapping[str, ArmVariation]) -> dict[str, str]:
    """Each control -> its rule. It has as much weight on random tokens, or the rule's weights divided by their mean.

    Empty if no variant of the study declares ``control`` as its factor. Otherwise the arms that declare a random score
    are controls too: as many tokens as the rule keeps, at random.
    """
    if all(arm.factor != "control" for arm in arms.values()):
        return {}
    return {
        variant: arm.of
        for variant, arm in arms.items()
        if arm.factor == "control" or (arm.factor == "score" and arm.values()[1] == "random")
    }


def rule_arms(arms: Mapping[str, ArmVariation], gates: Validity | None) -> dict[str, ArmVariation]:
    """The arms without those that a study has for its gates alone: the replica, the oracle and its control.

    Random tokens are one of these in a study without the rule that they vary.
    """
    of_gates = {gates.replica, gates.oracle, gates.oracle_control} if gates else set()
    if gates and gates.random in arms and arms[gates.random].factor is None:
        of_gates.add(gates.random)
    return {variant: arm for variant, arm in arms.items() if variant not in of_gates}


def bench_controls(settings: Settings) -> dict[str, str]:
    """:func:`controls_of` without the gates' arms, such as the oracle's control; empty if the study is not a bench."""
    return controls_of(rule_arms(settings.arms, settings.validity))


def rules_of(settings: Settings) -> list[str]:
    """The study's variants in its order, without controls, arms of gates and the first baseline.

    Empty if the study is not a bench.
    """
    controls = bench_controls(settings)
    rules = rule_arms(settings.arms, settings.validity).keys() - {settings.baselines[0], *controls}
    return [variant for variant in settings.variants if variant in rules] if controls else []


def bench_claims(settings: Settings) -> list[Claim]:
    """The claims that each rule of a bench raises pass@4 over the first baseline, and over each of its controls."""
    baseline, source = settings.baselines[0], "asked of every rule and each of its controls (docs/rules.md)"
    pairs = [(OVER_BASELINE, rule, baseline) for rule in rules_of(settings)]
    pairs += [(OVER_CONTROLS, rule, control) for control, rule in bench_controls(settings).items()]
    return [_better(f"{rule}-over-{other}", family, rule, other, BENCH_METRIC, source) for family, rule, other in pairs]


def primary_claims(settings: Settings) -> list[Claim]:
    """The claims of the study's own question, in its order; empty if it declares none (`evidence.primary`)."""
    if settings.primary is None:
        return []
    metric, source = settings.primary.metric, "the study's primary outcome (its `evidence.primary`)"
    pairs = settings.primary.comparisons
    return [_better(f"{PRIMARY}.{rule}-over-{other}", PRIMARY, rule, other, metric, source) for rule, other in pairs]


def _better(name: str, family: str, rule: str, other: str, metric: Metric, source: str) -> Claim:
    """The claim that a rule raises a metric over another arm."""
    return Claim(
        id=name,
        family=family,
        statement=f"`{rule}` raises the average {metric} over `{other}`.",
        source=source,
        test=DifferenceTest(kind="difference", ours=rule, against=(other,), metric=metric, direction="higher"),
    )


def claims_of(path: Path, settings: Settings) -> Sequence[Claim]:
    """The claims of a study: of its own question, of its bench, and those that :func:`read_claims` reads."""
    return [*primary_claims(settings), *bench_claims(settings), *read_claims(path)]
