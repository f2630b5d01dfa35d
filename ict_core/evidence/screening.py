"""Which rules of a bench the rewards of its tuning settle, before any arm is evaluated."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ict_core.statistics.intervals import over_runs


class Screened(NamedTuple):
    """A rule's training reward less that of one of its controls, over the tuning seeds."""

    model: str
    rule: str
    control: str
    difference: float  # a share
    low: float  # Student's 95 % limits; the difference itself where it is the same on all seeds
    high: float
    settled: bool  # whether both limits are within the margin


def screening(
    arms: Mapping[str, Any], rules: Sequence[str], controls: Mapping[str, str], baseline: str, margin: float
) -> Iterator[Screened]:
    """Each model's rules in their order, each beside all of its controls, or beside the baseline if it has none.

    The reward is that of the last quarter of a training at the rate that the arm chose.

    Args:
        arms: MODEL/VARIANT -> its `learning_rate` and its `rewards` by rate and seed, as in `rates.json`.
        rules: the variants to settle.
        controls: each control -> its rule.
        baseline: the variant beside which rules without a control are.
        margin: of equivalence, a share.
    """
    for model in dict.fromkeys(arm.split("/")[0] for arm in arms):
        for rule in rules:
            for control in [name for name, of in controls.items() if of == rule] or [baseline]:
                ours, theirs = (_rewards(arms[f"{model}/{variant}"]) for variant in (rule, control))
                found = over_runs([ours[seed] - theirs[seed] for seed in ours])
                low, high = (float(found.mean if np.isnan(limit) else limit) for limit in (found.low, found.high))
                yield Screened(model, rule, control, float(found.mean), low, high, -margin < low and high < margin)


def _rewards(arm: Mapping[str, Any]) -> Mapping[str, float]:
    """The rewards by seed at the chosen rate, which was tried with all tuning seeds."""
    rewards: Mapping[str, float] = arm["rewards"][f"{arm['learning_rate']:g}"]
    return rewards
