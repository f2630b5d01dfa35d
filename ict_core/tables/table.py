"""The inputs of a table, the order of its rows, and the format of its numbers.

Shares are printed in percent with one decimal.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ict_core.config.tuning import tuned_as
from ict_core.errors import UserError
from ict_core.evidence.gates import KEPT
from ict_core.evidence.stored import ArmVariation, Settings
from ict_core.evidence.validity import DETECTABLE, RATE
from ict_core.statistics.deciding import IDENTICAL
from ict_core.statistics.schemas import AVERAGE, BASE, GAIN

if TYPE_CHECKING:
    from ict_core.tables.paper import Paper

NONE = "—"
LABELS = {"total": "Total"}  # metric -> label in a readable table
MEAN = ("mean", "low", "high")
DIFFERENCE = ("difference", "difference_low", "difference_high")
_SYMMETRIC = 0.005  # an interval whose sides differ by at most this share is printed as one half-width
_ENOUGH = 9  # decimals to which a number is rounded first: the digits beyond depend on the CPU

OVER_BASE = "Δ base"
"""The heading of :func:`gains`."""
OF_BASE = (
    f" {OVER_BASE}: the difference from the base models that the runs began with, in points ± half its 95 % "
    "t-interval, paired, with the error of its sample where all began with one; described, not tested."
)
"""The sentence with which a caption explains :data:`OVER_BASE`."""
REMARK = (
    "Remark: an own rate at the edge of those tried, beyond which another might be better; or that the variant gains "
    "at no rate, as at none its reward less the base model's (of the first step) is above its standard error."
)

Frames = Mapping[str, pd.DataFrame]  # by name, at least those in `registry.INPUTS`


@dataclass(frozen=True)
class TableSettings(Settings):
    """A study's settings, and the paper's figures."""

    paper: "Paper" = field(kw_only=True)


@dataclass(frozen=True)
class Table:
    """One table in its two forms; `make_tables` sets name and title."""

    numbers: pd.DataFrame  # the CSV, long form
    readable: pd.DataFrame  # every cell a string
    caption: str  # Markdown; `code` in backquotes
    keys: int  # how many leading columns of `readable` name the row's group: a repeated value is printed once
    name: str = ""  # the files' stem and the LaTeX label
    title: str = ""  # printed before the caption in LaTeX


def restricted(frames: Frames, variants: Sequence[str]) -> Frames:
    """The frames' rows of the base model and of the shown variants; a UserError names variants without a level."""
    absent = [v for v in variants if v not in set(frames["levels"]["variant"])]
    if absent:
        raise UserError(f"levels: no row of {', '.join(absent)}; run its cells, then the statistics stage")
    allowed, restricted_frames = {BASE, *variants}, {}
    for name, frame in frames.items():
        columns = [column for column in ("variant", "baseline") if column in frame.columns]
        restricted_frames[name] = frame[frame[columns].isin(allowed).all(axis=1)].reset_index(drop=True)
    return restricted_frames


def in_order(frame: pd.DataFrame, **orders: Iterable[object]) -> pd.DataFrame:
    """The rows sorted by the columns, each in its given order, the first foremost; other values go last, by name."""

    def rank(column: pd.Series) -> pd.Series:
        values = dict.fromkeys([*orders[str(column.name)], *sorted(column.unique())])
        return column.map({value: i for i, value in enumerate(values)})

    return frame.sort_values(list(orders), key=rank, kind="stable", ignore_index=True)


def same_arms(contrasts: pd.DataFrame) -> str:
    """A sentence, with a space before it, that names the arms without a difference in any contrast; empty if none are.

    `contrasts` has every metric and benchmark: arms may tie in one metric alone, as where both are at its ceiling.
    """
    key = [contrasts[column] for column in ("model", "variant", "baseline")]
    same = (contrasts["verdict"] == IDENTICAL).groupby(key).transform("all")
    rows = contrasts[(contrasts["benchmark"] == AVERAGE) & same]
    pairs = dict.fromkeys(f"`{row.variant}` and `{row.baseline}` on {row.model}" for row in rows.itertuples())
    return f" Identical in every run: {'; '.join(pairs)}." if pairs else ""


def tuned_arms(rows: pd.DataFrame, arms: Mapping[str, ArmVariation], tuning: pd.DataFrame) -> list[tuple[str, str]]:
    """For each row the (model, variant) in ``records.TUNING`` whose tuning gave its variant the learning rate."""
    pairs = zip(rows["model"], rows["variant"], strict=True)
    tuned_variants = tuning.groupby("model")["variant"].agg(set)
    return [(model, tuned_as(variant, arms, tuned_variants.get(model, set()))) for model, variant in pairs]


def by_row(frame: pd.DataFrame, columns: Sequence[str], text: Callable[..., str]) -> list[str]:
    """`text` of the named columns' values, for each row."""
    return [text(*values) for values in frame[list(columns)].itertuples(index=False, name=None)]


def means(rows: pd.DataFrame, columns: Sequence[str] = MEAN) -> list[str]:
    """A mean share with its interval, for each row."""
    return by_row(rows, columns, percent_interval)


def differences(rows: pd.DataFrame, columns: Sequence[str] = DIFFERENCE) -> list[str]:
    """A difference of shares, with its sign and its interval, for each row."""
    return by_row(rows, columns, partial(percent_interval, signed=True))


def gains(rows: pd.DataFrame) -> list[str]:
    """The gain of each row of levels over the base model, in points with its interval."""
    return differences(rows, GAIN)


def wide(rows: pd.DataFrame, key: Sequence[str], heads: str, columns: Iterable[str]) -> pd.DataFrame:
    """Texts as a wide table: one row per `key` in order of appearance, one column per value of `heads`, dash for none.

    The texts are the column `text`, or else the means with their intervals. A mapping `columns` gives the headings.
    """
    texts = rows if "text" in rows else rows.assign(text=means(rows))
    table = texts.pivot(index=list(key), columns=heads, values="text")
    order = pd.MultiIndex.from_frame(rows[list(key)].drop_duplicates())
    table = table.reindex(index=order, columns=list(columns)).fillna(NONE).reset_index().rename_axis(columns=None)
    return table.rename(columns=dict(columns)) if isinstance(columns, Mapping) else table


def number(value: float, decimals: int, signed: bool = False) -> str:
    """A number with a true minus sign, no negative zero, thousands separators, a dash for NaN, and ∞."""
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞"
    rounded = round(round(value, _ENOUGH), decimals) + 0.0  # -0.0 + 0.0 is 0.0
    return f"{rounded:{'+' if signed else ''},.{decimals}f}".replace("-", "−")


def percent(share: float, signed: bool = False) -> str:
    """A share in percent with one decimal, such as "23.4"."""
    return number(100 * share, 1, signed)


def rare_percent(share: float) -> str:
    """A share in percent; a share above 0 that would print as 0.0 is "<0.1"."""
    return "<0.1" if 0 < share < 0.0005 else percent(share)


def percent_interval(mean: float, low: float, high: float, signed: bool = False) -> str:
    """A mean share with half its interval, "23.4 ± 3.1" or "23.4 ± —"; if asymmetric with its limits, "23.4 (20–31)".

    The limits are whole percents, so that a row of seven benchmarks fits a page; a signed difference has one decimal.
    """
    if math.isnan(mean):
        return NONE
    if abs((high - mean) - (mean - low)) > _SYMMETRIC:
        limits = percent_range(low, high) if signed else f"{number(100 * low, 0)}–{number(100 * high, 0)}"
        return f"{percent(mean, signed)} ({limits})"
    return f"{percent(mean, signed)} ± {percent((high - low) / 2)}"


def percent_range(low: float, high: float) -> str:
    """The limits of a difference, such as "−1.0 to +3.2"; a dash without an interval."""
    return NONE if math.isnan(low) else f"{percent(low, signed=True)} to {percent(high, signed=True)}"


def with_half(limits: Iterable[float], decimals: int, factor: float = 1, signed: bool = False) -> str:
    """A mean with half its interval (mean, low, high, times a factor): "1.25 ± 0.10", "1.25" without an interval."""
    mean, low, high = (factor * limit for limit in limits)
    half = "" if math.isnan(low) else f" ± {number((high - low) / 2, decimals)}"
    return number(mean, decimals, signed) + half


def value_text(gate: str, value: float, low: float, high: float) -> str:
    """A gate's value with its limits in percent (points), but the kept share as a ratio, a learning rate as it is."""
    if math.isnan(value):
        return NONE
    if gate == RATE:
        return f"{value:g}"
    text, lower, upper = (number(x, 2) if gate == KEPT else percent(x) for x in (value, low, high))
    if math.isnan(low):
        return text
    return f"{text} ({lower} to {upper})" if gate == DETECTABLE else f"{text} [{lower} to {upper}]"


def p_value(p: float) -> str:
    """A p value with three decimals, "<0.001" below that."""
    return "<0.001" if p < 0.001 else number(p, 3)
