"""Which rules of a bench the rewards of its tuning settle, before any arm is evaluated."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ict_core.statistics.intervals import over_runs


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
                ours, theirs = (_rewards(arms[f"{model}/{variant}"]) for variant in (rule, control))
                differences = [ours[seed] - theirs[seed] for seed in ours]
                found = over_runs(differences)
                low, high = float(found.low), float(found.high)
                if len(differences) > 1 and not any(differences):
                    low = high = 0.0
                yield Screened(model, rule, control, float(found.mean), low, high, -margin < low and high < margin)


def _rewards(arm: Mapping[str, Any]) -> Mapping[str, float]:
    """The rewards by seed at the chosen rate, which was tried with all tuning seeds."""
    rewards: Mapping[str, float] = arm["rewards"][f"{arm['learning_rate']:g}"]
    return rewards
