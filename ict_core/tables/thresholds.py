"""The ablation of the fraction of tokens kept: variants named <selector>-<percent> against one reference."""

import re
from collections.abc import Sequence

import pandas as pd

from ict_core.statistics.intervals import t_interval
from ict_core.statistics.paired import paired_t
from ict_core.statistics.runs import AVERAGE, by_seed, shown_variants
from ict_core.tables.contrasts import KS
from ict_core.tables.layout import NONE, by_row, percent_interval, seed_range
from ict_core.tables.write import Table

REFERENCE = "grpo"
LEVEL = ["mean", "low", "high"]
DIFFERENCE = ["difference", "difference_low", "difference_high"]
COLUMNS = ["model", "variant", "selector", "percent", "metric", *LEVEL, *DIFFERENCE, "seeds"]


def fractions(variants: Sequence[str]) -> list[tuple[str, str, int]]:
    """(variant, selector, percent) of those named <selector>-<percent>; selectors as they come, percents rising."""
    found = [(m[0], m[1], int(m[2])) for v in variants if (m := re.fullmatch(r"(.+)-(\d+)", v))]
    selectors = [selector for _, selector, _ in found]
    return sorted(found, key=lambda row: (selectors.index(row[1]), row[2]))


def threshold_numbers(runs: pd.DataFrame, variants: Sequence[str], reference: str = REFERENCE) -> pd.DataFrame:
    """Level and paired difference from the reference, of the macro-average, for every fraction of every selector.

    Args:
        runs: a frame of `statistics.runs.RUNS` with k = 1 and 4.
        variants: the study's variants; those not named <selector>-<percent> are left out.
        reference: the variant that keeps every token: the first row of each model, at 100 percent.

    Returns:
        A frame of :data:`COLUMNS`. Levels and differences are shares with 95 % t-intervals over seeds; the reference's
        own difference is NaN. No p values: the tests stand in the contrasts, under one correction.

    Raises:
        UserError: a model lacks the reference or a variant, or its seeds differ from the reference's.
    """
    nan = float("nan")
    rows: list[tuple[object, ...]] = []
    for model in runs["model"].unique():
        for variant, selector, kept in [(reference, reference, 100), *fractions(shown_variants(runs, model, variants))]:
            for k in KS:
                ours, theirs = (by_seed(runs, model, arm, AVERAGE, k) for arm in (variant, reference))
                level, test = t_interval(ours.to_numpy()), paired_t(ours, theirs)
                gap = (nan, nan, nan) if variant == reference else (test.difference, test.low, test.high)
                rows.append(
                    (model, variant, selector, kept, f"pass@{k}", level.mean, level.low, level.high, *gap, level.n)
                )
    return pd.DataFrame(rows, columns=COLUMNS)


def threshold_table(numbers: pd.DataFrame) -> Table:
    """The readable ablation from the frame of :func:`threshold_numbers`, pass@1 and pass@4 side by side."""

    def difference(mean: float, low: float, high: float) -> str:
        return NONE if pd.isna(mean) else percent_interval(mean, low, high, signed=True)

    shown = numbers.loc[numbers["metric"] == f"pass@{KS[0]}", ["model", "selector", "percent", "seeds"]].astype(str)
    shown = shown.rename(columns={"percent": "kept %"}).reset_index(drop=True)
    for metric, rows in numbers.groupby("metric", sort=False):
        shown[str(metric)] = by_row(rows, LEVEL, percent_interval)
        shown[f"Δ {metric}"] = by_row(rows, DIFFERENCE, difference)
    reference = numbers["variant"].iloc[0]
    caption = (
        f"The fraction of tokens kept. Average over the benchmarks in percent and its difference (Δ) from `{reference}`"
        f", which keeps every token; ± half the 95 % t-interval over {seed_range(numbers['seeds'])} (differences "
        "paired by seed). The intervals are not corrected for their number; the tests are in the contrasts."
    )
    return Table("thresholds", numbers, shown, caption, keys=2)
