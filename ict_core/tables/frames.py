"""What the tables are made from, and the selections of it that several tables share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ict_core.errors import UserError
from ict_core.evidence.settings import Variation
from ict_core.statistics.names import AVERAGE, BASE
from ict_core.tables.published import Paper

METRICS = ("pass@1", "pass@4", "total")  # of the main table and of every test
PASS_METRICS = ("pass@1", "pass@4")  # of the smaller tables
LIMITS = ("mean", "low", "high")
LABELS = {"total": "Total"}
_OPPOSITE = {"better": "worse", "worse": "better"}


Frames = Mapping[str, pd.DataFrame]
"""A study's frames by the names of `evidence.stored`: at least those of `registry.INPUTS`."""


@dataclass(frozen=True)
class TableSettings:
    """What the tables know of the study beside its frames.

    Attributes:
        variants: the trained variants to show, in order.
        baselines: the variants that every other one is compared with, in order.
        mirrors: benchmark -> the paper's benchmark in whose place it stands, in the study's order.
        margin: the smallest difference of interest, a share.
        power: of the smallest detectable difference and of the seeds needed.
        paper: the paper's published figures.
        arms: variant -> what it varies, and what the two differ in.
    """

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


def limits_by(numbers: pd.DataFrame, key: Sequence[str]) -> dict[tuple[Any, ...], tuple[float, float, float]]:
    """The columns mean, low, high by the values of the key's columns."""
    keys, limits = (numbers[list(columns)].itertuples(index=False, name=None) for columns in (key, LIMITS))
    return dict(zip(keys, limits, strict=True))


def label(metric: str) -> str:
    """A metric's name in a readable table."""
    return LABELS.get(metric, metric)


def both_ways(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Contrasts of the average and each one turned round, so that a pair is found whichever of the two comes first.

    Args:
        contrasts: a frame of `schemas.CONTRASTS`.

    Returns:
        The columns model, variant, baseline, metric, family, difference, low, high, p_adjusted, verdict; one row a
        (model, variant, baseline, metric).
    """
    key = ["model", "variant", "baseline", "metric"]
    columns = [*key, "family", "difference", "low", "high", "p_adjusted", "verdict"]
    ours = contrasts.loc[contrasts["benchmark"] == AVERAGE, columns]
    turned = ours.rename(columns={"variant": "baseline", "baseline": "variant"}).assign(
        difference=-ours["difference"],
        low=-ours["high"],
        high=-ours["low"],
        verdict=ours["verdict"].replace(_OPPOSITE),
    )
    return pd.concat([ours, turned[columns]], ignore_index=True).drop_duplicates(key)
