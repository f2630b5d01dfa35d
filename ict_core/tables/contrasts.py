"""The contrasts: every variant against every baseline and the declared pairs, declared ones first."""

from functools import partial

import pandas as pd

from ict_core.statistics.pairing import seed_range
from ict_core.statistics.schemas import ALPHA, AVERAGE, DECLARED, FAMILIES, GAIN, METRICS
from ict_core.tables.table import (
    LABELS,
    OF_BASE,
    OVER_BASE,
    Table,
    TableSettings,
    by_row,
    differences,
    gains,
    in_order,
    number,
    p_value,
    percent,
    percent_range,
    same_arms,
)

MANY_SEEDS = 1000  # a larger number is printed as ">1000"


def contrasts_table(contrasts: pd.DataFrame, levels: pd.DataFrame, settings: TableSettings) -> Table:
    key = ["model", "variant", "benchmark", "metric"]
    numbers = in_order(
        contrasts.merge(levels[[*key, *GAIN]], on=key, how="left"),
        family=FAMILIES,
        model=list(contrasts["model"]),
        metric=METRICS,
        benchmark=[AVERAGE, *settings.mirrors],
        variant=settings.variants,
        baseline=settings.baselines,
    )
    rows = numbers[numbers["benchmark"] == AVERAGE].reset_index(drop=True)
    readable = rows[["family", "model", "metric", "variant", "baseline"]].assign(metric=rows["metric"].replace(LABELS))
    readable["family"] = readable["family"].where(rows["question"] == "", rows["question"])
    readable["difference"] = differences(rows, ["difference", "low", "high"])
    readable[OVER_BASE] = gains(rows)
    readable["two-way interval"] = by_row(rows, ["two_way_low", "two_way_high"], percent_range)
    readable[["verdict", "test"]] = rows[["verdict", "test"]]
    readable["p"] = by_row(rows, ["p"], p_value)
    readable["adjusted p"] = by_row(rows, ["p_adjusted"], p_value)
    readable["adjusted p (equivalent)"] = by_row(rows, ["p_equivalence_adjusted"], p_value)
    readable["r"] = by_row(rows, ["correlation"], partial(number, decimals=2))
    readable["detectable"] = by_row(rows, ["detectable"], percent)
    readable["seeds"] = rows["seeds"].astype(str)
    readable["seeds needed"] = rows["seeds_needed"].map(_seeds)
    readable["for what was seen"] = rows["seeds_needed_seen"].map(_seeds)
    return Table(numbers, readable, _caption(numbers, rows, settings), keys=3)


def _seeds(needed: float) -> str:
    return f">{MANY_SEEDS}" if needed > MANY_SEEDS else number(needed, 0)


def _family(numbers: pd.DataFrame, family: str) -> str:
    tests = numbers[numbers["family"] == family]
    resolved = int(tests["verdict"].isin(["better", "worse"]).sum())
    correction = "Holm over those of one question" if family == DECLARED else "Benjamini-Hochberg"
    return (
        f"{family.capitalize()} ({correction}): {len(tests)} tests, {int(tests['p'].notna().sum())} could be "
        f"made, {resolved} {'is' if resolved == 1 else 'are'} resolved"
    )


def _caption(numbers: pd.DataFrame, rows: pd.DataFrame, settings: TableSettings) -> str:
    families = "; ".join(_family(numbers, family) for family in FAMILIES)
    questions = list(dict.fromkeys(rows.loc[rows["question"] != "", "question"]))
    named = f" Declared are the questions {', '.join(questions)}; the same runs count once." if questions else ""
    no_spread = " No spread: the paired differences are equal and not 0, so that nothing tells how they vary."
    no_spread = no_spread if "no spread" in set(numbers["verdict"]) else ""
    return (
        "Difference variant − baseline of the average over the benchmarks, in percent points ± half the 95 % "
        f"t-interval over {seed_range(rows['seeds'])}, paired by seed: for new runs on these problems.{OF_BASE} "
        "Two-way interval: for new runs on new problems. p: of the test named, two-sided; adjusted p: within the "
        f"family. {families} (adjusted p < {ALPHA}).{named}{same_arms(numbers)} The rows of the single benchmarks are "
        "in the CSV. r: correlation of the paired run means. Detectable: the smallest true difference that these seeds "
        f"would find with power {number(settings.power, 2)}, before the correction; seeds needed: to find one of "
        f"{percent(settings.margin)} points with that power, given this spread; for what was seen: one as large as was "
        f"seen. Equivalent: within ±{percent(settings.margin)} points by two one-sided tests, adjusted as the others "
        f"are, among those of the family; not confirmed: p is below {ALPHA}, and above it once corrected; none seen: "
        "neither, a difference of "
        f"`detectable` or more would mostly have been found before the correction.{no_spread}"
    )
