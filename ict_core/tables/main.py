"""The main table: every model and variant on every benchmark, in the paper's layout."""

from collections.abc import Mapping
from string import ascii_lowercase

import pandas as pd

from ict_core.statistics.pairing import both_ways, seed_range
from ict_core.statistics.schemas import ALPHA, AVERAGE, BASE, DECLARED, METRICS
from ict_core.tables._comparison import OF_LEVELS
from ict_core.tables.table import (
    LABELS,
    NONE,
    OF_BASE,
    OVER_BASE,
    Table,
    TableSettings,
    by_row,
    gains,
    in_order,
    percent_interval,
    same_arms,
    wide,
)

_SUPERSCRIPT = str.maketrans("abcdefghijklmnop+-()", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ⁺⁻⁽⁾")
_SIGNS = {"better": "+", "worse": "-"}


def _marks(contrasts: pd.DataFrame, letters: Mapping[str, str]) -> dict[tuple[str, str, str], str]:
    """(model, variant, metric) -> the resolved differences on the average: superscript baseline letters with a sign.

    A mark is in parentheses if its test was not declared.
    """
    marks: dict[tuple[str, str, str], str] = {}
    found = both_ways(contrasts)
    rank = {baseline: place for place, baseline in enumerate(letters)}
    later = found["variant"].map(rank).fillna(len(rank)) > found["baseline"].map(rank)  # a rule is after all baselines
    resolved = found[later & found["verdict"].isin(_SIGNS) & found["metric"].isin(METRICS)]
    for row in in_order(resolved, baseline=letters).itertuples():
        mark = letters[str(row.baseline)] + _SIGNS[str(row.verdict)]
        key = (str(row.model), str(row.variant), str(row.metric))
        mark = mark if row.family == DECLARED else f"({mark})"
        marks[key] = marks.get(key, "") + mark.translate(_SUPERSCRIPT)
    return marks


def main_table(levels: pd.DataFrame, contrasts: pd.DataFrame, settings: TableSettings) -> Table:
    """One block per metric, with a row per model and variant (base first), a column per benchmark (average first)."""
    benchmarks = [AVERAGE, *settings.mirrors]
    numbers = in_order(
        levels[levels["metric"].isin(METRICS)],
        metric=METRICS,
        model=list(levels["model"]),
        variant=[BASE, *settings.variants],
        benchmark=benchmarks,
    )
    letters = dict(zip(settings.baselines, ascii_lowercase, strict=False))
    marks = _marks(contrasts, letters)

    def text(model: str, variant: str, benchmark: str, metric: str, mean: float, low: float, high: float) -> str:
        mark = marks.get((model, variant, metric), "") if benchmark == AVERAGE else ""
        return percent_interval(mean, low, high) + mark

    cells = numbers.assign(
        text=by_row(numbers, ["model", "variant", "benchmark", "metric", "mean", "low", "high"], text),
        seeds=numbers["seeds"].astype(str).mask((numbers["variant"] == BASE) & (numbers["seeds"] == 1), NONE),
    )
    average = cells[cells["benchmark"] == AVERAGE]
    cells = pd.concat([cells, average.assign(benchmark=OVER_BASE, text=gains(average))])
    columns = [name for name in (AVERAGE, OVER_BASE, *settings.mirrors) if name in set(cells["benchmark"])]
    readable = wide(cells, ["metric", "model", "variant", "seeds"], "benchmark", columns)
    readable = readable.replace({"metric": LABELS})
    caption = _caption(numbers, settings, letters, bool(marks)) + same_arms(contrasts)
    return Table(numbers, readable, caption, keys=2)


def _caption(numbers: pd.DataFrame, settings: TableSettings, letters: Mapping[str, str], marked: bool) -> str:
    is_base = numbers["variant"] == BASE
    seeds = seed_range(numbers.loc[~is_base, "seeds"])
    base = "one evaluation of the untrained model, so that its interval speaks for new problems only"
    if numbers.loc[is_base, "seeds"].max() > 1:
        base = "the untrained models with which the trainings began, whose number stands under seeds"
    stand_ins = ", ".join(f"`{name}` for {paper}" for name, paper in settings.mirrors.items() if name != paper)
    caption = (
        f"pass@k in percent: mean over {seeds} ± half the 95 % interval, {OF_LEVELS}, by the "
        f"two-way variance of runs and problems. Total: the mean of pass@1 and pass@4. `{AVERAGE}`: every "
        f"benchmark weighs the same.{OF_BASE} `{BASE}`: {base}. An interval whose sides differ by more than half a "
        f"point is printed from low to high, in whole percents; {NONE}: none. "
    )
    caption += f"What the benchmarks stand for: {stand_ins}. " if stand_ins else ""
    legend = ", ".join(f"{letter.translate(_SUPERSCRIPT)} `{b}`" for b, letter in letters.items())
    caption += (
        f"Superscripts: better (⁺) or worse (⁻) than {legend}; adjusted p < {ALPHA}, in parentheses where the "
        "test is not a declared one. Two baselines are compared once, at the later one."
    )
    return caption if marked else f"{caption} No difference is resolved, so that there is no mark."
