"""What the tables are made from, and the selections of it that several tables share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from ict_core.errors import UserError
from ict_core.evidence import Variation
from ict_core.statistics import BASE
from ict_core.tables._layout import NONE
from ict_core.tables._published import Paper

METRICS = ("pass@1", "pass@4", "total")  # of the main table and of every test
PASS_METRICS = ("pass@1", "pass@4")  # of the smaller tables
LABELS = {"total": "Total"}

Frames = Mapping[str, pd.DataFrame]
"""A study's frames by the names of `evidence.stored`: at least those of `registry.INPUTS`."""


@dataclass(frozen=True)
class TableSettings:
    """What the tables know of the study beside its frames (see `evidence.settings.Settings`), and of the paper."""

    variants: tuple[str, ...]
    baselines: tuple[str, ...]
    mirrors: Mapping[str, str]
    margin: float
    power: float
    paper: Paper
    arms: Mapping[str, Variation]


def restricted(frames: Frames, variants: Sequence[str]) -> Frames:
    """The frames' rows of the base model and of the variants to show.

    Raises:
        UserError: a variant without a level: it was not run, or the statistics are older than the study.
    """
    absent = [v for v in variants if v not in set(frames["levels"]["variant"])]
    if absent:
        raise UserError(f"levels: no row of {', '.join(absent)}; run its cells, then the statistics stage")
    wanted, kept = {BASE, *variants}, {}
    for name, frame in frames.items():
        columns = [column for column in ("variant", "baseline") if column in frame.columns]
        kept[name] = frame[frame[columns].isin(wanted).all(axis=1)].reset_index(drop=True)
    return kept


def in_order(frame: pd.DataFrame, **orders: Iterable[str]) -> pd.DataFrame:
    """The rows sorted by the given columns, each in its given order; values outside it go last, by name; else stable.

    Args:
        frame: any frame with the columns.
        orders: column -> its values in order; the first column weighs most.
    """

    def rank(column: pd.Series) -> pd.Series:
        values = dict.fromkeys([*orders[str(column.name)], *sorted(column.unique())])
        return column.map({value: i for i, value in enumerate(values)})

    return frame.sort_values(list(orders), key=rank, kind="stable", ignore_index=True)


def wide(rows: pd.DataFrame, key: Sequence[str], heads: str, columns: Iterable[str]) -> pd.DataFrame:
    """The column `text` of the rows, side by side: a dash where there is none.

    Args:
        rows: a frame with the columns `text`, `heads` and `key`.
        key: the columns whose values name a row; rows stand in the order in which they come.
        heads: the column whose values name the columns.
        columns: which of them, in order.
    """
    texts = rows.pivot(index=list(key), columns=heads, values="text")
    order = pd.MultiIndex.from_frame(rows[list(key)].drop_duplicates())
    return texts.reindex(index=order, columns=list(columns)).fillna(NONE).reset_index().rename_axis(columns=None)


def label(metric: str) -> str:
    """A metric's name in a readable table."""
    return LABELS.get(metric, metric)
