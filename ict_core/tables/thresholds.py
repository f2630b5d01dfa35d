"""The ablation of the fraction of tokens kept: variants named <selector>-<percent> against one reference."""

from collections.abc import Sequence

import pandas as pd

from ict_core.statistics import seed_range, selector_and_percent, shown_variants
from ict_core.tables._comparison import compared, resolved, side_by_side
from ict_core.tables._frames import Table, TableSettings
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
)

REFERENCE = "grpo"


def fractions(variants: Sequence[str]) -> list[tuple[str, str, int]]:
    """(variant, selector, percent) of those named <selector>-<percent>; selectors as they come, percents rising."""
    rows = [(v, *parts) for v in variants if (parts := selector_and_percent(v))]
    selectors = [selector for _, selector, _ in rows]
    return sorted(rows, key=lambda row: (selectors.index(row[1]), row[2]))


def threshold_numbers(levels: pd.DataFrame, contrasts: pd.DataFrame, variants: Sequence[str]) -> pd.DataFrame:
    """The columns model, variant, selector and percent of every fraction of every selector, and those of `compared`.

    The reference, which keeps every token, is the first row of each model, at 100 percent.
    """
    rows = [
        (model, *row)
        for model in levels["model"].unique()
        for row in [(REFERENCE, REFERENCE, 100), *fractions(shown_variants(levels, model, variants))]
    ]
    frame = pd.DataFrame(rows, columns=["model", "variant", "selector", "percent"])
    return compared(levels, contrasts, frame.assign(reference=REFERENCE)).drop(columns="reference")


def thresholds_table(levels: pd.DataFrame, contrasts: pd.DataFrame, settings: TableSettings) -> Table:
    """The readable ablation, pass@1 and pass@4 side by side."""
    numbers = threshold_numbers(levels, contrasts, settings.variants)
    caption = (
        "Average over the benchmarks in percent ± half its 95 % interval for new runs on "
        f"new problems, and the difference (Δ) from `{REFERENCE}`, which keeps every token, in points ± half the 95 % "
        f"t-interval over {seed_range(numbers['seeds'].dropna())}, paired by seed. {resolved(numbers)}"
    )
    shown = side_by_side(numbers, ["model", "selector", "percent"]).rename(columns={"percent": "kept %"})
    return Table("thresholds", numbers, shown, caption, keys=2)
