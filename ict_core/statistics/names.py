"""Names that the frames of the statistics share, and how a variant's name is read."""

import re
from collections.abc import Sequence

import pandas as pd

from ict_core.store.layout import BASE_VARIANT

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
    return f"{cell['model']}/{cell['variant']}/seed-{cell['seed']}"


def selector_and_percent(variant: str) -> tuple[str, int] | None:
    """A variant named <selector>-<percent> as these two; None for any other name."""
    named = re.fullmatch(r"(.+)-(\d+)", variant)
    return (named[1], int(named[2])) if named else None


def shown_variants(frame: pd.DataFrame, model: str, variants: Sequence[str]) -> list[str]:
    """The variants that a model ran, in the order in which they are shown: base first, then as given."""
    ran = set(frame.loc[frame["model"] == model, "variant"].unique())
    return [v for v in dict.fromkeys([BASE, *variants]) if v in ran]
