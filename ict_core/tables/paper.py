"""The paper's published figures beside the study's own."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import Field

from ict_core.config.mistakes import Fault, refused, repeated
from ict_core.config.section import Name, Section, load_section
from ict_core.statistics.schemas import AVERAGE, METRICS
from ict_core.tables._comparison import OF_LEVELS
from ict_core.tables.table import LABELS, NONE, Table, TableSettings, by_row, in_order, number, percent_interval, wide

PAPER, STUDY = "paper", "this study"
COLUMNS = ["benchmark", "metric", "variant", "source", "model", "mean", "low", "high"]
_ROUNDING = 0.51e-4  # a total printed with two decimals may be this far from the mean of its two columns
Percent = Annotated[float, Field(ge=0, le=100)]


class Figures(Section):
    """One printed row, in percent; null where the paper gives no figure."""

    variant: Name
    pass_at_1: Percent | None
    pass_at_4: Percent | None
    total: Percent | None

    def shares(self) -> dict[str, float]:
        """Metric -> share; NaN where the paper gives none."""
        values = dict(zip(METRICS, (self.pass_at_1, self.pass_at_4, self.total), strict=True))
        return {metric: float("nan") if v is None else v / 100 for metric, v in values.items()}


class Averages(Section):
    """One model's averages over the seven benchmarks; `named` are the project's names for that model."""

    size: str = Field(min_length=1)
    model: str = Field(min_length=1)
    named: tuple[Name, ...]
    rows: tuple[Figures, ...] = Field(min_length=1)


class Ablation(Section):
    size: str = Field(min_length=1)
    benchmark: str = Field(min_length=1)
    rows: tuple[Figures, ...] = Field(min_length=1)


class Paper(Section):
    source: str = Field(min_length=1)
    averages: tuple[Averages, ...] = Field(min_length=1)
    ablation: Ablation

    def faults(self) -> Iterator[Fault]:
        sizes = [averages.size for averages in self.averages]
        if self.ablation.size not in sizes:
            yield refused("ablation.size", self.ablation.size, f"one of {', '.join(sizes)}")
        places = {f"averages[{i}].rows": averages.rows for i, averages in enumerate(self.averages)}
        for place, rows in {**places, "ablation.rows": self.ablation.rows}.items():
            yield from repeated(place, [row.variant for row in rows])


def read_paper(path: Path) -> Paper:
    """Read and check the published figures, `configs/paper.yaml`; a UserError has one line per problem."""
    return load_section(path, Paper)


def _numbers(levels: pd.DataFrame, settings: TableSettings) -> pd.DataFrame:
    """The paper's figures, then the study's for the same variants, as shares in the columns :data:`COLUMNS`.

    Benchmarks have the paper's names; a model of the paper is named by its size. A figure that the paper does not give
    is NaN. One that the study lacks has no row.
    """
    paper = settings.paper
    quotes = [(AVERAGE, averages.size, row) for averages in paper.averages for row in averages.rows]
    quotes += [(paper.ablation.benchmark, paper.ablation.size, row) for row in paper.ablation.rows]
    rows = [
        (benchmark, metric, figures.variant, PAPER, size, share, math.nan, math.nan)
        for benchmark, size, figures in quotes
        for metric, share in figures.shares().items()
    ]
    published = pd.DataFrame(rows, columns=COLUMNS)
    places = {AVERAGE: AVERAGE, _stand_in(settings): paper.ablation.benchmark}
    study = levels[levels["benchmark"].isin(places)]
    study = study.assign(benchmark=study["benchmark"].map(places), source=STUDY)
    keys = published[["benchmark", "metric", "variant"]].drop_duplicates()
    return pd.concat([published, keys.merge(study, on=["benchmark", "metric", "variant"])[COLUMNS]], ignore_index=True)


def _stand_in(settings: TableSettings) -> str:
    """The study's stand-in for the benchmark of the paper's ablation: the first of several, "" if there is none."""
    benchmark = settings.paper.ablation.benchmark
    return next((name for name, place in settings.mirrors.items() if place == benchmark), "")


def _text(source: str, _: str, mean: float, low: float, high: float) -> str:
    return number(100 * mean, 2) if source == PAPER else percent_interval(mean, low, high)


def _columns(numbers: pd.DataFrame, paper: Paper) -> tuple[list[tuple[str, str]], bool]:
    """(source, model) of each column, and whether every model of the study is one of the paper's."""
    models = list(numbers.loc[numbers["source"] == STUDY, "model"].unique())
    sizes = {name: averages.size for averages in paper.averages for name in averages.named}
    paired = bool(models) and all(model in sizes for model in models)
    columns: list[tuple[str, str]] = []
    for averages in paper.averages:
        columns.append((PAPER, averages.size))
        columns += [(STUDY, model) for model in models if paired and sizes[model] == averages.size]
    return columns + ([] if paired else [(STUDY, model) for model in models]), paired


def _inconsistent(paper: Paper) -> str:
    """A sentence on the printed totals that are not the mean of their two columns; "" if there are none."""
    totals = []
    for averages in paper.averages:
        for row in averages.rows:
            first, second, total = row.shares().values()
            if abs(total - (first + second) / 2) >= _ROUNDING:
                totals.append(f"{averages.size} `{row.variant}`")
    named = " and of ".join(totals)
    sentence = f" The paper's totals of {named} are not the mean of their own two columns; they are shown as printed."
    return sentence if totals else ""


def paper_table(levels: pd.DataFrame, settings: TableSettings) -> Table:
    """One row per benchmark, metric and variant, one column per model of the paper and of the study."""
    numbers = _numbers(levels, settings)
    columns, paired = _columns(numbers, settings.paper)
    quoted = numbers[(numbers["source"] == PAPER) & numbers["mean"].notna()]
    pairs = set(zip(quoted["benchmark"], quoted["metric"], strict=True))  # each with a figure in the paper
    rows = in_order(numbers, benchmark=list(numbers["benchmark"]), metric=METRICS)
    rows = rows[[pair in pairs for pair in zip(rows["benchmark"], rows["metric"], strict=True)]]
    texts = rows.assign(
        text=by_row(rows, COLUMNS[3:], _text),
        head=rows["model"] + " (" + rows["source"] + ")",
        metric=rows["metric"].replace(LABELS),
    )
    heads = [f"{model} ({source})" for source, model in columns]
    readable = wide(texts, ["benchmark", "metric", "variant"], "head", heads)
    return Table(numbers, readable, _caption(settings, paired), keys=2)


def _caption(settings: TableSettings, paired: bool) -> str:
    paper = settings.paper
    stand_in = _stand_in(settings)
    sizes = ", ".join(f"{averages.size} is {averages.model}" for averages in paper.averages)
    place = f"the study's `{stand_in}`, which stands in its place" if stand_in else "not in this study"
    relation = (
        "The study's models are the paper's; each stands beside its own."
        if paired
        else "The study's models and problems are not the paper's: the columns stand side by side, nothing is paired, "
        "and no difference between a column of the paper and one of the study means anything."
    )
    return (
        f"The figures that the paper ({paper.source}) printed, beside this study's; percent. {relation} "
        f"{sizes}. `{AVERAGE}`: over the paper's seven benchmarks, and over the study's. {paper.ablation.benchmark}: "
        f"the paper's ablation of {paper.ablation.size}, and {place}. The paper printed no intervals; the study's are "
        f"95 %, {OF_LEVELS}. {NONE}: not given by the paper, or not run in the study."
        f"{_inconsistent(paper)}"
    )
