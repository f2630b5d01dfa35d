"""Levels beside a difference from one reference: the layout that the ablations share."""

from collections.abc import Sequence

import pandas as pd

from ict_core.statistics.names import AVERAGE
from ict_core.tables.frames import PASS_METRICS, both_ways
from ict_core.tables.layout import NONE, by_row, percent_interval
from ict_core.tables.table import Table

NOT_IN_STUDY = "not in this study"
NOT_ON_MODEL = "not run on this model"
NOT_COMPARED = "not compared"
REFERENCE = "reference"
_LEVEL = ["mean", "low", "high", "seeds"]
_DIFFERENCE = ["difference", "difference_low", "difference_high", "family", "p_adjusted", "verdict"]


def compared(levels: pd.DataFrame, contrasts: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The levels of some variants and their differences from a reference each, on the average.

    Args:
        levels: a frame of `schemas.LEVELS`.
        contrasts: a frame of `schemas.CONTRASTS`.
        rows: the columns model, variant, reference (itself: it is one) and any others, in order; a variant need not
            have been run.

    Returns:
        `rows` for pass@1 and pass@4, with the columns metric, mean, low, high (the level's two-way interval), seeds,
        difference (variant - reference), difference_low, difference_high (t over seeds), family, p_adjusted, verdict;
        shares. Where there is
        no level or no difference the numbers are NaN and the verdict says why.
    """
    average = levels.loc[levels["benchmark"] == AVERAGE, ["model", "variant", "metric", *_LEVEL]]
    pairs = both_ways(contrasts).rename(
        columns={"baseline": "reference", "low": "difference_low", "high": "difference_high"}
    )
    key = ["model", "variant", "metric"]
    found = (
        rows.merge(pd.DataFrame({"metric": PASS_METRICS}), how="cross")
        .merge(average, on=key, how="left")
        .merge(pairs[[*key, "reference", *_DIFFERENCE]], on=[*key, "reference"], how="left")
    )
    ran = set(levels["variant"])

    def verdict(variant: str, reference: str, mean: float, known: str) -> str:
        if pd.isna(mean):
            return NOT_ON_MODEL if variant in ran else NOT_IN_STUDY
        if variant == reference:
            return REFERENCE
        return NOT_COMPARED if pd.isna(known) else known

    return found.assign(
        seeds=found["seeds"].astype("Int64"),
        family=found["family"].fillna(""),
        verdict=by_row(found, ["variant", "reference", "mean", "verdict"], verdict),
    )


def side_by_side(name: str, numbers: pd.DataFrame, columns: Sequence[str], caption: str) -> Table:
    """The readable form of :func:`compared`: pass@1 and pass@4 side by side, each with level, difference and verdict.

    Args:
        name: the table's.
        numbers: the frame.
        columns: the leading columns, whose values name a row; the model first.
        caption: the table's.
    """
    by_metric = {metric: numbers[numbers["metric"] == metric].reset_index(drop=True) for metric in PASS_METRICS}
    first = by_metric[PASS_METRICS[0]]
    shown = first[list(columns)].astype(str)
    shown["seeds"] = by_row(first, ["seeds"], lambda seeds: NONE if pd.isna(seeds) else str(seeds))
    for metric, rows in by_metric.items():
        shown[metric] = by_row(rows, ["mean", "low", "high"], percent_interval)
        shown[f"Δ {metric}"] = by_row(
            rows,
            ["difference", "difference_low", "difference_high"],
            lambda mean, low, high: percent_interval(mean, low, high, signed=True),
        )
        shown[f"{metric} verdict"] = rows["verdict"]
    return Table(name, numbers, shown, caption, keys=1)


def resolved(numbers: pd.DataFrame) -> str:
    """A sentence on the verdicts of :func:`compared`: how many comparisons there are and how many are resolved."""
    tests = numbers[numbers["family"] != ""]
    if tests.empty:
        return "The study makes no such comparison."
    found = int(tests["verdict"].isin(["better", "worse"]).sum())
    return (
        f"{found} of {len(tests)} comparisons {'is' if found == 1 else 'are'} resolved; the tests and their correction "
        "are those of the contrasts."
    )
