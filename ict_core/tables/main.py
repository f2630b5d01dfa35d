"""The main table: every model and variant on every benchmark, pass@1 and pass@4."""

from collections.abc import Sequence

import pandas as pd

from ict_core.statistics.intervals import t_interval
from ict_core.statistics.runs import AVERAGE, BASE, by_seed, shown_variants
from ict_core.tables.contrasts import KS, VERDICTS_RESOLVED
from ict_core.tables.layout import NONE, SIGNIFICANCE, by_row, percent, percent_interval, seed_range
from ict_core.tables.write import Table

COLUMNS = ["model", "variant", "benchmark", "metric", "mean", "low", "high", "seeds"]
_SUPERSCRIPT = str.maketrans("abcdefghijklmnop+-", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ⁺⁻")


def main_numbers(runs: pd.DataFrame, variants: Sequence[str]) -> pd.DataFrame:
    """Mean over training seeds with its 95 % t-interval, for every benchmark and their macro-average.

    Args:
        runs: a frame of `statistics.runs.RUNS` with k = 1 and 4.
        variants: the variants to show, in order; base goes first where it was evaluated.

    Returns:
        A frame of :data:`COLUMNS` in long form; mean, low and high are shares, low and high NaN where there is no
        interval (one seed, seeds without any spread). `seeds` of base is 1: its one evaluation.

    Raises:
        UserError: a model has no run of a variant.
    """
    rows = []
    for model in runs["model"].unique():
        benchmarks = runs.loc[runs["model"] == model, "benchmark"].unique()
        for variant in shown_variants(runs, model, variants):
            for benchmark in benchmarks:
                for k in KS:
                    level = t_interval(by_seed(runs, model, variant, benchmark, k).to_numpy())
                    rows.append((model, variant, benchmark, f"pass@{k}", level.mean, level.low, level.high, level.n))
    return pd.DataFrame(rows, columns=COLUMNS)


def _letters(tests: pd.DataFrame) -> dict[str, str]:
    """A superscript letter for each baseline, in order."""
    return {b: chr(ord("a") + i).translate(_SUPERSCRIPT) for i, b in enumerate(tests["baseline"].unique())}


def _marks(tests: pd.DataFrame) -> dict[tuple[str, str, str], str]:
    """(model, variant, metric) -> superscripts: each baseline's letter with the sign of the resolved difference."""
    letters, marks = _letters(tests), dict[tuple[str, str, str], str]()
    for row in tests[tests["verdict"].isin(VERDICTS_RESOLVED)].itertuples():
        sign = ("+" if row.verdict == "higher" else "-").translate(_SUPERSCRIPT)
        key = (str(row.model), str(row.variant), str(row.metric))
        marks[key] = marks.get(key, "") + letters[str(row.baseline)] + sign
    return marks


def main_table(numbers: pd.DataFrame, tests: pd.DataFrame) -> Table:
    """The readable main table: a row a (model, metric, variant), a column a benchmark.

    Args:
        numbers: the frame of :func:`main_numbers`.
        tests: the frame of `contrasts.contrasts`, whose resolved rows are the marks on the average.
    """
    marks = _marks(tests)

    def text(model: str, variant: str, benchmark: str, metric: str, mean: float, low: float, high: float) -> str:
        level = percent(mean) if variant == BASE else percent_interval(mean, low, high)
        return level + (marks.get((model, variant, metric), "") if benchmark == AVERAGE else "")

    cells = numbers.assign(
        text=by_row(numbers, COLUMNS[:-1], text),
        seeds=by_row(numbers, ["variant", "seeds"], lambda variant, seeds: NONE if variant == BASE else str(seeds)),
    )
    rows, benchmarks = ["model", "metric", "variant", "seeds"], [*numbers["benchmark"].unique()]
    benchmarks.append(benchmarks.pop(benchmarks.index(AVERAGE)))
    wide = cells.pivot(index=rows, columns="benchmark", values="text")[benchmarks].fillna(NONE)
    order = cells[["model", "metric"]].drop_duplicates().merge(cells[["model", "variant", "seeds"]].drop_duplicates())
    shown = wide.loc[pd.MultiIndex.from_frame(order[rows])].reset_index().rename_axis(columns=None)
    seeds = seed_range(numbers.loc[numbers["variant"] != BASE, "seeds"])
    caption = (
        f"pass@k in percent: mean over {seeds} ± half the 95 % t-interval over seeds, which speaks for new runs on "
        f"these problems. `{AVERAGE}`: every benchmark weighs the same. `{BASE}`: one evaluation of the untrained "
        f"model, no training seeds. {NONE}: no interval, from one seed or from seeds that are all equal."
    )
    legend = ", ".join(f"{letter} {baseline}" for baseline, letter in _letters(tests).items())
    if legend:
        caption += f" Superscripts: higher (⁺) or lower (⁻) than {legend} (paired t, Holm p < {SIGNIFICANCE})."
    return Table("main", numbers, shown, caption, keys=2)
