"""What the tables are made from, a study's frames and settings and the paper's figures, and what a table is."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import Field

from ict_core.config import Name, Section, load_section, tuned_as
from ict_core.config.mistakes import Fault, refused, repeated
from ict_core.errors import UserError
from ict_core.evidence import ArmVariation
from ict_core.statistics import AVERAGE, BASE, GAIN, IDENTICAL, METRICS
from ict_core.tables._layout import NONE, by_row, percent_interval

Percent = Annotated[float, Field(ge=0, le=100)]
_NUMERIC = re.compile(r"[+−<]?\d.*|—")
_ROUNDING = 0.0051  # a total printed with two decimals may be this far from the mean of its two columns


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

    def consistent(self) -> bool:
        """Whether the total is the mean of pass@1 and pass@4, or one of the three is missing."""
        if self.pass_at_1 is None or self.pass_at_4 is None or self.total is None:
            return True
        return abs(self.total - (self.pass_at_1 + self.pass_at_4) / 2) < _ROUNDING


class Averages(Section):
    """The averages over the seven benchmarks of one model; `named` are the project's names for the same model."""

    size: str = Field(min_length=1)
    model: str = Field(min_length=1)
    named: tuple[Name, ...]
    rows: tuple[Figures, ...] = Field(min_length=1)


class Ablation(Section):
    """One model's figures on one benchmark."""

    size: str = Field(min_length=1)
    benchmark: str = Field(min_length=1)
    rows: tuple[Figures, ...] = Field(min_length=1)


class Paper(Section):
    """The figures that the paper printed."""

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
    """Read and check the published figures, `configs/paper.yaml`.

    Raises:
        UserError: the file is missing or wrong; one line a problem, with file, key, value and what is allowed.
    """
    paper: Paper = load_section(path, Paper)
    return paper


LABELS = {"total": "Total"}  # of metrics in a readable table

Frames = Mapping[str, pd.DataFrame]  # by name, at least those of `tables.INPUTS`


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """What the tables know of the study beside its frames (see `evidence.Settings`), and of the paper."""

    variants: tuple[str, ...]
    baselines: tuple[str, ...]
    mirrors: Mapping[str, str]
    margin: float
    power: float
    paper: Paper
    arms: Mapping[str, ArmVariation]
    recipe_rate: float  # the learning rate of the recipe
    kept: Mapping[str, float]  # variant -> the percent of the tokens that it keeps by its own parameter, if it has one
    averaged: Sequence[str] | None = None  # the benchmarks that the average is over; None: all
    sources: Mapping[str, str] | None = None  # what each rule was written from; None: the study does not say


def restricted(frames: Frames, variants: Sequence[str]) -> Frames:
    """The frames' rows of the base model and of the variants to show; a UserError names those without a level."""
    absent = [v for v in variants if v not in set(frames["levels"]["variant"])]
    if absent:
        raise UserError(f"levels: no row of {', '.join(absent)}; run its cells, then the statistics stage")
    wanted, kept = {BASE, *variants}, {}
    for name, frame in frames.items():
        columns = [column for column in ("variant", "baseline") if column in frame.columns]
        kept[name] = frame[frame[columns].isin(wanted).all(axis=1)].reset_index(drop=True)
    return kept


def in_order(frame: pd.DataFrame, **orders: Iterable[str]) -> pd.DataFrame:
    """The rows sorted by columns, the first weighs most, each in its order; values outside it go last, by name."""

    def rank(column: pd.Series) -> pd.Series:
        values = dict.fromkeys([*orders[str(column.name)], *sorted(column.unique())])
        return column.map({value: i for i, value in enumerate(values)})

    return frame.sort_values(list(orders), key=rank, kind="stable", ignore_index=True)


def same_arms(contrasts: pd.DataFrame) -> str:
    """A sentence, with a space before it, that names the arms whose runs are the same to the bit; empty if none are."""
    rows = contrasts[(contrasts["benchmark"] == AVERAGE) & (contrasts["verdict"] == IDENTICAL)]
    pairs = dict.fromkeys(f"`{row.variant}` and `{row.baseline}` on {row.model}" for row in rows.itertuples())
    return f" Identical in every run: {'; '.join(pairs)}." if pairs else ""


OVER_BASE = "Δ base"
"""The heading of :func:`gains`."""
OF_BASE = (
    f" {OVER_BASE}: the difference from the base models that the runs began with, in points ± half its 95 % "
    "t-interval, paired; described, not tested."
)
"""What a caption says of it."""


REMARK = (
    "Remark: an own rate at the edge of those tried, beyond which another might be better; or that the variant gains "
    "at no rate, as at none its reward less the base model's (of the first step) is above its standard error."
)


def tuned_arms(rows: pd.DataFrame, arms: Mapping[str, ArmVariation], tuning: pd.DataFrame) -> list[tuple[str, str]]:
    """The (model, variant) whose tuning gives each row's variant its learning rate, of a frame ``records.TUNING``."""
    pairs = zip(rows["model"], rows["variant"], strict=True)
    tuned = tuning.groupby("model")["variant"].agg(set)
    return [(model, tuned_as(variant, arms, tuned.get(model, set()))) for model, variant in pairs]


def gains(rows: pd.DataFrame) -> list[str]:
    """What each row of levels gains over the base model, in points with its interval."""
    return by_row(rows, GAIN, partial(percent_interval, signed=True))


def wide(rows: pd.DataFrame, key: Sequence[str], heads: str, columns: Iterable[str]) -> pd.DataFrame:
    """The column `text` side by side, a dash where there is none: a row a `key`, as they come, a column a `heads`."""
    texts = rows.pivot(index=list(key), columns=heads, values="text")
    order = pd.MultiIndex.from_frame(rows[list(key)].drop_duplicates())
    return texts.reindex(index=order, columns=list(columns)).fillna(NONE).reset_index().rename_axis(columns=None)


@dataclass(frozen=True)
class Table:
    """One table in its two forms."""

    name: str  # the files' stem and the LaTeX label
    numbers: pd.DataFrame  # the CSV, long form
    shown: pd.DataFrame  # the readable form, every cell a string
    caption: str  # Markdown; `code` in backquotes
    keys: int  # how many leading columns of `shown` name the row's group: a repeated value is printed once
    title: str = ""  # what stands before the caption in LaTeX and HTML; `make_tables` gives it


def grouped(shown: pd.DataFrame, keys: int) -> Iterable[tuple[int, list[str]]]:
    """(leading key columns that the row shares with the row above, the row's cells with those blanked)."""
    above: list[str] = []
    for row in shown.astype(str).itertuples(index=False, name=None):
        cells = list(row)
        shared = next((i for i in range(keys) if cells[i : i + 1] != above[i : i + 1]), keys)
        yield shared, [""] * shared + cells[shared:]
        above = cells


def alignments(shown: pd.DataFrame) -> list[str]:
    """`r` for columns of numbers and dashes, `l` for words."""
    columns = (shown.iloc[:, i].astype(str) for i in range(len(shown.columns)))  # two may have one name
    return ["r" if all(map(_NUMERIC.fullmatch, column)) else "l" for column in columns]
