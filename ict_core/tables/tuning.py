"""The learning rate of each variant, and the training runs by which it was chosen."""

import pandas as pd

from ict_core.evidence.tuning import BASE_RATE, remarks
from ict_core.tables.table import NONE, REMARK, Table, TableSettings, by_row, in_order, number


def _mean(rewards: pd.Series, seeds: int) -> str:
    """A mean reward, none if a training has none, with its number of seeds if that is below `seeds`, that of all."""
    return number(float(rewards.mean(skipna=False)), 3) + (f" ({len(rewards)})" if len(rewards) < seeds else "")


def tuning_table(tuning: pd.DataFrame, settings: TableSettings) -> Table:
    numbers = in_order(tuning, model=list(tuning["model"]), variant=settings.variants)
    rates = sorted(numbers["rate"].unique())
    rows, remark_of, seeds = [], remarks(tuning), by_row(numbers.drop_duplicates("seed"), ["seed"], str)
    for arm in dict.fromkeys(zip(numbers["model"], numbers["variant"], strict=True)):
        arm_rows = numbers[(numbers["model"] == arm[0]) & (numbers["variant"] == arm[1])]
        rewards = {rate: rate_rows["reward"] for rate, rate_rows in arm_rows.groupby("rate")}
        chosen = arm_rows.loc[arm_rows["chosen"], "rate"].iloc[0]
        texts = [_mean(rewards[rate], len(seeds)) if rate in rewards else NONE for rate in rates]
        rows.append((*arm, *texts, f"{chosen:g}", remark_of[arm] or NONE))
    heads = ["base" if rate == BASE_RATE else f"reward at {rate:g}" for rate in rates]
    columns = ["model", "variant", *heads, "own rate", "remark"]
    readable = pd.DataFrame(rows, columns=columns)
    fewer = numbers.groupby(["model", "variant", "rate"])["seed"].nunique().lt(len(seeds)).any()
    bases = "" if settings.scope else " and base models"
    halved = (
        " In parentheses is the number of seeds where it is smaller, as only the better rates went on: such a mean is "
        f"of other seeds{bases} than one of all, and than the base's."
    )
    caption = (
        f"Learning rates: every variant trained at these rates with the same seeds{bases}, which no evaluated "
        f"run has ({', '.join(seeds)}), and without evaluation.{halved if fewer else ''} Its own rate is that of the "
        "highest mean reward on the training problems over the last quarter of the steps; every arm of the primary "
        "comparison trains at its own. "
        f"{REMARK}"
        if len(numbers)
        else "The study chooses no learning rate: every variant trains at the recipe's."
    )
    return Table(numbers, readable, caption, keys=1)
