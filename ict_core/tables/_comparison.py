"""Levels beside a difference from one reference: the layout of the ablations and of the fractions kept."""

from collections.abc import Sequence
from functools import partial

import pandas as pd

from ict_core.statistics import AVERAGE, GAIN, PASS_METRICS, both_ways
from ict_core.tables._frames import OVER_BASE, gains
from ict_core.tables._layout import NONE, by_row, percent_interval

_LIMITS = ["difference", "difference_low", "difference_high"]


def compared(levels: pd.DataFrame, contrasts: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The levels of some variants and their differences from a reference each, on the average; shares.

    `rows` has the columns model, variant, reference (itself: it is one) and any others; they come back for pass@1 and
    pass@4 with metric, mean, low, high (the level's two-way interval), seeds, `GAIN`, difference (variant - reference)
    with difference_low and difference_high (t over seeds), family, p_adjusted, p_equivalence_adjusted and verdict.
    Where there is no level, as a variant need not have been run, or no difference, the numbers are NaN and the verdict
    says why.
    """
    key = ["model", "variant", "metric"]
    average = levels.loc[levels["benchmark"] == AVERAGE, [*key, "mean", "low", "high", "seeds", *GAIN]]
    names = {"baseline": "reference", "low": "difference_low", "high": "difference_high"}
    pairs = both_ways(contrasts).rename(columns=names)
    pairs = pairs[[*key, "reference", *_LIMITS, "family", "p_adjusted", "p_equivalence_adjusted", "verdict"]]
    numbers = rows.merge(pd.DataFrame({"metric": PASS_METRICS}), how="cross").merge(average, on=key, how="left")
    numbers = numbers.merge(pairs, on=[*key, "reference"], how="left")
    ran = set(levels["variant"])

    def verdict(variant: str, reference: str, mean: float, found: str) -> str:
        if pd.isna(mean):
            return "not run on this model" if variant in ran else "not in this study"
        if variant == reference:
            return "reference"
        return "not compared" if pd.isna(found) else found

    return numbers.assign(
        seeds=numbers["seeds"].astype("Int64"),
        family=numbers["family"].fillna(""),
        verdict=by_row(numbers, ["variant", "reference", "mean", "verdict"], verdict),
    )


def side_by_side(numbers: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The readable form of :func:`compared`: `columns`, then each metric's level, difference and verdict."""
    by_metric = {metric: numbers[numbers["metric"] == metric].reset_index(drop=True) for metric in PASS_METRICS}
    first = by_metric[PASS_METRICS[0]]
    readable = first[list(columns)].astype(str)
    readable["seeds"] = by_row(first, ["seeds"], lambda seeds: NONE if pd.isna(seeds) else str(seeds))
    for metric, rows in by_metric.items():
        readable[metric] = by_row(rows, ["mean", "low", "high"], percent_interval)
        readable[f"Δ {metric}"] = by_row(rows, _LIMITS, partial(percent_interval, signed=True))
        readable[f"{OVER_BASE}, {metric}"] = gains(rows)
        readable[f"{metric} verdict"] = rows["verdict"]
    return readable


def resolved(numbers: pd.DataFrame) -> str:
    """A sentence on the verdicts of :func:`compared`: how many comparisons there are and how many are resolved."""
    tests = numbers[numbers["family"] != ""]
    if tests.empty:
        return "The study makes no such comparison."
    count = int(tests["verdict"].isin(["better", "worse"]).sum())
    return (
        f"{count} of {len(tests)} comparisons {'is' if count == 1 else 'are'} resolved; the tests and their correction "
        "are those of the contrasts."
    )
