"""A bench of rules: which arms are controls of which, and the claims that follow from it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ict_core.evidence.claims import Claim, DifferenceTest, read_claims
from ict_core.evidence.stored import ArmVariation, Settings
from ict_core.statistics.schemas import Metric

OVER_BASELINE, OVER_CONTROLS = "rules-over-the-baseline", "rules-over-their-controls"
"""The two families: Holm's correction runs over each."""

MEAN_ONE = "mean-one"  # the control whose weights are the rule's divided by their mean; all others are at random
SAME_SIGN = "-same-sign"  # how a control at random among the tokens of one sign of A ends
BENCH_METRIC: Metric = "pass@4"  # by which rules are compared


def controls_of(arms: Mapping[str, ArmVariation]) -> dict[str, str]:
    """Each control -> the rule that it controls: as much weight at random, or the rule's divided by their mean.

    Empty in a study without a variant that declares ``control`` as its factor. In one with them the arms that declare a
    random score are controls too: as many tokens as the rule keeps, at random.
    """
    if all(arm.factor != "control" for arm in arms.values()):
        return {}
    return {
        variant: arm.of
        for variant, arm in arms.items()
        if arm.factor == "control" or (arm.factor == "score" and arm.values()[1] == "random")
    }


def bench_controls(settings: Settings) -> dict[str, str]:
    """:func:`controls_of` a bench, without that of the gates' oracle; a study that declares no other is no bench."""
    own = {variant: rule for variant, rule in controls_of(settings.arms).items() if variant not in _of_gates(settings)}
    return own if any(settings.arms[variant].factor == "control" for variant in own) else {}


def _of_gates(settings: Settings) -> set[str]:
    """The arms that a study has for its gates alone."""
    v = settings.validity
    return {v.replica, v.oracle, v.oracle_control} if v else set()


def rules_of(settings: Settings) -> list[str]:
    """The study's variants that are no control, no gate's arm and not the first baseline, in its order.

    Empty where it is no bench.
    """
    controls = bench_controls(settings)
    others = {settings.baselines[0], *controls, *_of_gates(settings)}
    return [variant for variant in settings.variants if variant not in others] if controls else []


def bench_claims(settings: Settings) -> list[Claim]:
    """Of every rule of a bench that it raises pass@4 over the first baseline, and over each of its controls."""
    baseline = settings.baselines[0]
    pairs = [(OVER_BASELINE, rule, baseline) for rule in rules_of(settings)]
    pairs += [(OVER_CONTROLS, rule, control) for control, rule in bench_controls(settings).items()]
    return [
        Claim(
            id=f"{rule}-over-{other}",
            family=family,
            statement=f"`{rule}` raises the average {BENCH_METRIC} over `{other}`.",
            source="asked of every rule and each of its controls (docs/rules.md)",
            test=DifferenceTest(
                kind="difference", ours=rule, against=(other,), metric=BENCH_METRIC, direction="higher"
            ),
        )
        for family, rule, other in pairs
    ]


def claims_of(path: Path, settings: Settings) -> Sequence[Claim]:
    """The claims of a study: those of its bench, if it is one, and those of a file as of :func:`read_claims`."""
    return [*bench_claims(settings), *read_claims(path)]
