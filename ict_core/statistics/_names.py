"""Names that the frames of the statistics share, and how a variant's name is read."""

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from ict_core.store import BASE_VARIANT, cell_folder

BASE = BASE_VARIANT  # evaluated once, no training seeds
AVERAGE = "average"  # the benchmark name of the macro-average: every benchmark weighs the same, whatever its size
CELL = ["model", "variant", "seed"]
FACTORS = {
    "score": "score",
    "keep": "tokens kept",
    "percent": "share kept, %",
    "reference": "reference distribution",
    "scope": "scope of the threshold",
    "normaliser": "normaliser",
    "warmup_steps": "warm-up, steps",
    "group_size": "group size",
    "tau_h": "τ_h",
    "random_reward": "chance of a random reward",
    "replica": "random numbers",
}
"""What a variant's declared factor is called, in the order in which they are shown."""


def cell_name(cell: pd.Series) -> str:
    """model/variant/seed-n of a row that has these columns."""
    return cell_folder(cell["model"], cell["variant"], cell["seed"])


def selector_and_percent(variant: str) -> tuple[str, int] | None:
    """A variant named <selector>-<percent> as these two; None for any other name."""
    named = re.fullmatch(r"(.+)-(\d+)", variant)
    return (named[1], int(named[2])) if named else None


def shown_variants(frame: pd.DataFrame, model: str, variants: Sequence[str]) -> list[str]:
    """The variants that a model ran, in the order in which they are shown: base first, then as given."""
    ran = set(frame.loc[frame["model"] == model, "variant"].unique())
    return [v for v in dict.fromkeys([BASE, *variants]) if v in ran]


def limits_by(means: pd.DataFrame, key: Sequence[str]) -> dict[tuple[Any, ...], tuple[float, float, float]]:
    """The columns mean, low, high by the values of the key's columns."""
    keys, limits = (means[list(names)].itertuples(index=False, name=None) for names in (key, ["mean", "low", "high"]))
    return dict(zip(keys, limits, strict=True))


def seed_range(numbers: pd.Series, noun: str = "training seed") -> str:
    """Some arms' numbers of seeds in words: "3 training seeds", or "2 to 3 training seeds" where they differ."""
    if numbers.empty:
        return f"no {noun}s"
    least, most = int(numbers.min()), int(numbers.max())
    span = f"{most}" if least == most else f"{least} to {most}"
    return f"{span} {noun}{'' if most == 1 else 's'}"
