"""The ablation of the share of tokens kept: rules with a parameter for it against one reference."""

from collections.abc import Mapping, Sequence

import pandas as pd

from ict_core.statistics import seed_range, shares_kept, shown_variants
from ict_core.tables._comparison import compared, resolved, side_by_side
from ict_core.tables._frames import OF_BASE, Table, TableSettings
from ict_core.tables._layout import by_row
from ict_core.tables._registry import TableDeclaration

TABLE = TableDeclaration(
    place=4,
    title="Fraction of tokens kept",
    inputs=("levels", "contrasts"),
    keys=("model", "variant", "metric"),
    made="the mean over runs on the average, and its difference from the first baseline",
    compared=True,
    module="tables/_comparison.py",
    doc="docs/statistics.md#which-test-decides-and-the-verdicts",
    statistics="levels",
    follow=True,
    against="grpo",
)

REFERENCE = str(TABLE.against)


def threshold_numbers(
    levels: pd.DataFrame, contrasts: pd.DataFrame, variants: Sequence[str], kept: Mapping[str, float]
) -> pd.DataFrame:
    """The columns model, variant, selector and percent of every fraction of every selector, and those of `compared`.

    The reference, which keeps every token, is the first row of each model, at 100 percent.
    """
    rows = [
        (model, variant, *share)
        for model in levels["model"].unique()
        for variant, share in [
            (REFERENCE, (REFERENCE, 100)),
            *shares_kept(shown_variants(levels, model, variants), kept).items(),
        ]
    ]
    frame = pd.DataFrame(rows, columns=["model", "variant", "selector", "percent"])
    return compared(levels, contrasts, frame.assign(reference=REFERENCE)).drop(columns="reference")


def thresholds_table(levels: pd.DataFrame, contrasts: pd.DataFrame, settings: TableSettings) -> Table:
    """The readable ablation, pass@1 and pass@4 side by side."""
    numbers = threshold_numbers(levels, contrasts, settings.variants, settings.kept)
    caption = (
        "Average over the benchmarks in percent ± half its 95 % interval for new runs on "
        f"new problems, and the difference (Δ) from `{REFERENCE}`, which keeps every token, in points ± half the 95 % "
        f"t-interval over {seed_range(numbers['seeds'].dropna())}, paired by seed.{OF_BASE} {resolved(numbers)}"
    )
    percents = by_row(numbers, ["percent"], "{:g}".format)
    readable = side_by_side(numbers.assign(percent=percents), ["model", "selector", "percent"]).rename(
        columns={"percent": "kept %"}
    )
    return Table("thresholds", numbers, readable, caption, keys=2)
