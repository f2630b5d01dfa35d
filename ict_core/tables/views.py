"""Second views of the declared contrasts: other tests and intervals than the deciding one, each with its limits."""

import pandas as pd

from ict_core.statistics import ALPHA, METRICS
from ict_core.tables._frames import LABELS, Table, TableSettings, in_order, wide
from ict_core.tables._layout import NONE, by_row, number, p_with_floor, percent, percent_range
from ict_core.tables._registry import TableDeclaration

TABLE = TableDeclaration(
    place=3,
    title="Second views of the contrasts",
    inputs=("views",),
    keys=("model", "variant", "baseline", "metric", "view"),
    made="a second view of variant - baseline on the average; it decides nothing",
    module="statistics/_views.py",
    doc="docs/statistics.md#what-not-to-use",
    statistics="views",
    runs=("variant", "baseline"),
)

PROBABILITY = "probability of improvement"  # the one view whose estimate is no difference of shares
_HEADS = {
    "sign-flip": "sign-flip p",
    "permutation": "permutation p",
    "wilcoxon": "Wilcoxon p",
    "welch": "Welch interval",
    "crossed bootstrap": "crossed bootstrap interval",
    "interquartile mean": "interquartile mean difference",
}


def _text(view: str, estimate: float, low: float, high: float, p: float, floor: float) -> str:
    """An interval where the view has one, else the p value with the smallest that it could have been."""
    if view == PROBABILITY:
        limits = NONE if pd.isna(low) else f"{number(low, 2)} to {number(high, 2)}"
        return NONE if pd.isna(estimate) else f"{number(estimate, 2)} ({limits})"
    if pd.isna(low) and not (pd.isna(p) and pd.isna(floor)):
        return p_with_floor(p, floor)
    return NONE if pd.isna(estimate) else f"{percent(estimate, signed=True)} ({percent_range(low, high, signed=True)})"


def _head(view: str, rows: pd.DataFrame) -> str:
    """A view's heading, with the coverage of its interval where the calibration found one."""
    coverage = rows["coverage"].dropna()
    if coverage.empty:
        return _HEADS.get(view, view)
    low, high = number(100 * coverage.min(), 0), number(100 * coverage.max(), 0)
    return f"{_HEADS.get(view, view)} (covers {low if low == high else f'{low} to {high}'}\u00a0%)"


def views_table(views: pd.DataFrame, settings: TableSettings) -> Table:
    """A row a pair and metric, a column a view; a pair's views stand as they come."""
    orders = {"variant": settings.variants, "baseline": settings.baselines}
    numbers = in_order(views, model=list(views["model"]), metric=METRICS, **orders)
    heads = {str(view): _head(str(view), rows) for view, rows in numbers.groupby("view", sort=False)}
    texts = numbers.assign(text=by_row(numbers, ["view", "estimate", "low", "high", "p", "p_floor"], _text))
    shown = wide(texts, ["model", "metric", "variant", "baseline"], "view", heads).rename(columns=heads)
    shown = shown.replace({"metric": LABELS})
    caption = (
        "Other views of the declared contrasts, variant − baseline of the average over the benchmarks; none of them "
        "decides. Tests: two-sided p, not corrected for their number, and in parentheses the smallest p that so many "
        f"seeds can give: where that is above {ALPHA} the test cannot reject at {100 * ALPHA:g} %, whatever the data. "
        "Intervals: "
        "percent points, nominal 95 %; `covers` is how often such an interval held the truth in this project's "
        "calibration by simulation. Probability of improvement: the chance that a run of the variant beats one of the "
        f"baseline, 0.50 for equal ones. {NONE}: not defined, for example with one seed."
    )
    if numbers.empty:
        caption = "No contrast was declared, so that there is no second view."
    return Table("views", numbers, shown, caption, keys=2)
