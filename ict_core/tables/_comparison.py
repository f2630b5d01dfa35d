"""Levels beside their differences from a reference, for the tables `ablations`, `thresholds` and `rates`."""

from collections.abc import Mapping, Sequence

import pandas as pd

from ict_core.statistics.pairing import both_ways
from ict_core.statistics.schemas import AVERAGE, GAIN, PASS_METRICS
from ict_core.tables.table import DIFFERENCE, NONE, OVER_BASE, by_row, differences, gains, means

OF_LEVELS = "for new runs on new problems (of one run, for that run)"
"""What the interval of a level says, for captions."""


def compared(levels: pd.DataFrame, contrasts: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The levels of variants on the average and their differences from a reference, as shares.

    `rows` has the columns model, variant, reference (the variant itself if it is one) and any others. Each row comes
    back for pass@1 and for pass@4, with the columns metric, mean, low, high (the level's two-way interval), seeds
    (those that both arms ran; without a difference, the level's), `GAIN`, difference (variant - reference),
    difference_low and difference_high (t over seeds), family, p_adjusted, p_equivalence_adjusted and verdict. Where
    there is no level, as a variant need not have been run, or no difference, the numbers are NaN and the verdict says
    why.
    """
    key = ["model", "variant", "metric"]
    average = levels.loc[levels["benchmark"] == AVERAGE, [*key, "mean", "low", "high", "seeds", *GAIN]]
    names = {"baseline": "reference", "low": "difference_low", "high": "difference_high", "seeds": "pairs"}
    tests = both_ways(contrasts).rename(columns=names)
    tests = tests[
        [*key, "reference", *DIFFERENCE, "pairs", "family", "p_adjusted", "p_equivalence_adjusted", "verdict"]
    ]
    numbers = rows.merge(pd.DataFrame({"metric": PASS_METRICS}), how="cross").merge(average, on=key, how="left")
    numbers = numbers.merge(tests, on=[*key, "reference"], how="left")
    run_variants = set(levels["variant"])

    def verdict(variant: str, reference: str, mean: float, found: str) -> str:
        if pd.isna(mean):
            return "not run on this model" if variant in run_variants else "not in this study"
        if variant == reference:
            return "reference"
        return "not compared" if pd.isna(found) else found

    return numbers.drop(columns="pairs").assign(
        seeds=numbers["pairs"].fillna(numbers["seeds"]).astype("Int64"),
        family=numbers["family"].fillna(""),
        verdict=by_row(numbers, ["variant", "reference", "mean", "verdict"], verdict),
    )


def side_by_side(sides: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The readable form of rows of :func:`compared`: level, difference, gain and verdict of each side, side by side."""
    texts = {}
    for name, rows in sides.items():
        texts[name] = means(rows)
        texts[f"Δ {name}"] = differences(rows)
        texts[f"{OVER_BASE}, {name}"] = gains(rows)
        texts[f"{name} verdict"] = list(rows["verdict"])
    return pd.DataFrame(texts)


def by_metric(numbers: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The readable form of :func:`compared`: `columns`, the seeds, then both metrics side by side."""
    sides = {str(metric): numbers[numbers["metric"] == metric].reset_index(drop=True) for metric in PASS_METRICS}
    first = sides[PASS_METRICS[0]]
    readable = first[list(columns)].astype(str)
    readable["seeds"] = first["seeds"].astype(str).where(first["seeds"].notna(), NONE)
    return pd.concat([readable, side_by_side(sides)], axis=1)


def resolved(numbers: pd.DataFrame) -> str:
    tests = numbers[numbers["family"] != ""]
    if tests.empty:
        return "The study makes no such comparison."
    count = int(tests["verdict"].isin(["better", "worse"]).sum())
    return (
        f"{count} of {len(tests)} comparisons {'is' if count == 1 else 'are'} resolved; the tests and their correction "
        "are those of the contrasts."
    )
