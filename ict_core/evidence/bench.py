"""A study's own claims, of its question and of a bench of rules with controls, and what the bench's tuning settles."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ict_core.config.study_file import Validity
from ict_core.evidence.claims import Claim, DifferenceTest, read_claims
from ict_core.evidence.stored import ArmVariation, Settings
from ict_core.statistics.intervals import over_runs
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


def _better(family: str, rule: str, other: str, metric: Metric, source: str, prefix: str = "") -> Claim:
    """The claim that a rule raises a metric over another arm."""
    return Claim(
        id=f"{prefix}{rule}-over-{other}",
        family=family,
        statement=f"`{rule}` raises the average {metric} over `{other}`.",
        source=source,
        test=DifferenceTest(kind="difference", ours=rule, against=(other,), metric=metric, direction="higher"),
    )


def claims_of(path: Path, settings: Settings) -> list[Claim]:
    """The claims of a study: of its own question, of its bench, and those that :func:`read_claims` reads.

    Its own question is `evidence.primary`, if it declares one. Of a bench each rule has the claim that it raises pass@4
    over the first baseline, and one for each of its controls.
    """
    claims: list[Claim] = []
    if settings.primary is not None:
        metric, source = settings.primary.metric, "the study's primary outcome (its `evidence.primary`)"
        claims = [
            _better(PRIMARY, *pair, metric, source, prefix=f"{PRIMARY}.") for pair in settings.primary.comparisons
        ]
    source = "asked of every rule and each of its controls (docs/rules.md)"
    of_bench = [(OVER_BASELINE, rule, settings.baselines[0]) for rule in rules_of(settings)]
    of_bench += [(OVER_CONTROLS, rule, control) for control, rule in bench_controls(settings).items()]
    claims += [_better(*asked, BENCH_METRIC, source) for asked in of_bench]
    return [*claims, *read_claims(path)]


class Screened(NamedTuple):
    """A rule's training reward less that of one of its controls, over the tuning seeds."""

    model: str
    rule: str
    control: str
    difference: float  # a share
    low: float  # Student's 95 % limits; 0 where no seed differs, else NaN where there is no spread
    high: float
    settled: bool  # whether both limits are within the margin


def screening(
    arms: Mapping[str, Any], rules: Sequence[str], controls: Mapping[str, str], baseline: str, margin: float
) -> Iterator[Screened]:
    """Each model's rules in their order, each beside the model's controls of it, or beside the baseline without any.

    The reward is that of the last quarter of a training at the rate that the arm chose.

    Args:
        arms: MODEL/VARIANT -> its `learning_rate` and its `rewards` by rate and seed, as in `rates.json`.
        rules: the variants to settle.
        controls: each control -> its rule.
        baseline: the variant beside which rules without a control are.
        margin: of equivalence, a share.
    """
    for model in dict.fromkeys(arm.split("/")[0] for arm in arms):
        trained = {arm.split("/")[1] for arm in arms if arm.startswith(f"{model}/")}
        for rule in filter(trained.__contains__, rules):
            for control in [name for name, of in controls.items() if of == rule and name in trained] or [baseline]:
                tuned = [arms[f"{model}/{variant}"] for variant in (rule, control)]  # both with all tuning seeds
                ours, theirs = (arm["rewards"][f"{arm['learning_rate']:g}"] for arm in tuned)
                differences = [ours[seed] - theirs[seed] for seed in ours]
                found = over_runs(differences)
                low, high = float(found.low), float(found.high)
                if len(differences) > 1 and not any(differences):
                    low = high = 0.0
                yield Screened(model, rule, control, float(found.mean), low, high, -margin < low and high < margin)
