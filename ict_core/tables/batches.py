"""The batch size as a factor: the share of the baseline's gain that each rule keeps at every batch size."""

import math
from functools import partial

import pandas as pd

from ict_core.evidence.gates import KEPT
from ict_core.statistics.pairing import seed_range
from ict_core.statistics.schemas import BATCHES
from ict_core.tables.table import NONE, OVER_BASE, Table, TableSettings, by_row, gains, in_order, number, value_text


def batches_table(batches: pd.DataFrame, settings: TableSettings) -> Table:
    """One row per rule and batch: tokens trained per step, gain over the base model, share of the baseline's gain."""
    baseline = settings.baselines[0]
    if batches.empty:
        caption = f"The study varies no batch that `{baseline}` has too."
        return Table(batches, batches, caption, keys=0)

    def ratio(kept: float, low: float, high: float) -> str:
        if math.isnan(low):
            return number(kept, 2) if kept == 1 else NONE
        return value_text(KEPT, kept, low, high)

    rules = [variant for variant in settings.variants if variant in set(batches["rule"])]
    by_size = batches.sort_values(["prompts", "steps"], kind="stable")
    numbers = in_order(by_size, model=batches["model"].unique(), rule=rules, metric=batches["metric"].unique())
    readable = pd.DataFrame(
        {
            **numbers[["model", "metric", "rule"]],
            "prompts × steps": by_row(numbers, ["prompts", "steps"], "{} × {}".format),
            "tokens trained a step": by_row(numbers, ["tokens"], partial(number, decimals=0)),
            OVER_BASE: gains(numbers),
            f"of {baseline}'s": by_row(numbers, ["kept", "kept_low", "kept_high"], ratio),
        }
    )
    caption = (
        f"What each rule gains over the base model at every size of a batch, in points ± half its 95 % "
        f"t-interval over {seed_range(numbers['seeds'])}, and what part that is of what `{baseline}` gains with the "
        f"same prompts and steps, a ratio with Fieller's limits; {NONE}: one run, or `{baseline}`'s gain is not told "
        "from 0."
    )
    caption += " Every arm trains at a learning rate of its own." * settings.chooses_rates
    return Table(numbers[list(BATCHES)], readable, caption, keys=3)
