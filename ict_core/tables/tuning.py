"""The learning rate that each variant was given, and the trainings by which it was chosen."""

import pandas as pd

from ict_core.tables._frames import Table, TableSettings, in_order
from ict_core.tables._layout import NONE, by_row, number
from ict_core.tables._registry import TableDeclaration

TABLE = TableDeclaration(
    place=5,
    title="Tuning",
    inputs=("tuning",),
    keys=("model", "variant", "rate", "seed"),
    made="the mean reward over the last quarter of the steps of a training that served to choose a learning rate",
    module="stages/tune.py",
    doc="docs/statistics.md#equal-tuning",
    source="tuning",
    runs=(),
)


def tuning_table(tuning: pd.DataFrame, settings: TableSettings) -> Table:
    """A row a model and variant, a column a rate, and the rate that was chosen."""
    numbers = in_order(tuning, model=list(tuning["model"]), variant=settings.variants)
    rates = sorted(numbers["rate"].unique())
    rows = []
    for arm, of_arm in numbers.groupby(["model", "variant"], sort=False):
        means = of_arm.groupby("rate")["reward"].mean()
        chosen = of_arm.loc[of_arm["chosen"], "rate"].iloc[0]
        edge = "the lowest tried" if chosen == rates[0] else "the highest tried" if chosen == rates[-1] else NONE
        rows.append((*arm, *(number(float(means[rate]), 3) for rate in rates), f"{chosen:g}", edge))
    columns = ["model", "variant", *(f"reward at {rate:g}" for rate in rates), "own rate", "at the edge"]
    shown = pd.DataFrame(rows, columns=columns)
    seeds = by_row(numbers.drop_duplicates("seed"), ["seed"], str)
    caption = (
        "Learning rates: every variant trained at each rate with the same seeds and base models, which no evaluated "
        f"run has ({', '.join(seeds)}), and without evaluation. Its own rate is that of the highest mean reward on the "
        "training problems over the last quarter of the steps; every arm of the primary comparison trains at its own."
        if len(numbers)
        else "The study chooses no learning rate: every variant trains at the recipe's."
    )
    return Table("tuning", numbers, shown, caption, keys=1)
