"""Shared parts of the figures: one style per variant, and grids of panels with a legend and a note below the data."""

import hashlib
import itertools
import math
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType, RcKeyType
from numpy.typing import ArrayLike, NDArray

from ict_core.errors import UserError
from ict_core.statistics.pairing import seed_range
from ict_core.statistics.schemas import AVERAGE, BASE, PASS_METRICS

COLUMN_WIDTH = 3.35  # inches, one column of a two-column page
TEXT_WIDTH = 6.75  # inches, both columns

RC: dict[RcKeyType, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # embedded TrueType, which journals accept and readers can search
}


@dataclass(frozen=True)
class Style:
    colour: str
    line: LineStyleType
    marker: str
    width: float = 1.1  # points


_ROOM, _APART = 0.75, 0.15  # share of a row: for all runs of a variant; between two runs, if there are few
_DASHED: LineStyleType = (0.0, (4.0, 1.5))
_LONG_DASHED: LineStyleType = (0.0, (6.0, 4.0))  # lets an equal curve below show through
_DOTTED: LineStyleType = (0.0, (1.2, 1.2))
_DASHDOT: LineStyleType = (0.0, (5.0, 1.5, 1.2, 1.5))

_STYLES = {
    BASE: Style("#7F7F7F", _DASHED, "None"),
    "grpo": Style("#000000", "-", "o", width=2.0),  # its rim shows below an equal curve
    "entropy-20": Style("#0072B2", "-", "s"),
    "stapo": Style("#009E73", _LONG_DASHED, "^"),
    "ict-5": Style("#E69F00", _DASHED, "v"),
    "ict-10": Style("#D55E00", "-", "D"),
    "ict-20": Style("#8F3F00", _DASHDOT, "p"),
    "ict-30": Style("#4F2300", _DOTTED, "<"),
    "random-10": Style("#CC79A7", "-", "h"),
    "frequent-90": Style("#882255", _DASHED, "P"),
    "wasserstein-10": Style("#56B4E9", _DASHDOT, ">"),
    "kl-10": Style("#B8A800", _DASHED, "d"),
    "tv-10": Style("#332288", _DOTTED, "*"),
    "entropy-10": Style("#44AA99", _DASHDOT, "X"),
}
_SPARE = [
    Style(colour, line, marker)
    for line, marker in (("-", "X"), (_DASHDOT, "*"), (_DOTTED, "d"), (_DASHED, ">"))
    for colour in ("#56B4E9", "#882255", "#44AA99", "#B8A800", "#332288")
]
_MARKERS = "os^vD<>pPXd*h8H"

_LABELS = {BASE: "Base", "grpo": "GRPO", "stapo": "STAPO", "entropy-20": "20-Entropy", "clip-cov": "Clip-Cov"}
_LABELS |= {"mastered-99": "Mastered p≥0.99"}  # its number is no share
_LABELS |= {name: name.upper() for name in ("psr", "nsr", "w-reinforce", "steer")}
_SELECTORS = {name: name.upper() for name in ("ict", "kl", "tv", "gmts", "nat")}


def style(variant: str) -> Style:
    """The variant's style; one that is not listed gets a spare style that depends on its name alone."""
    return _STYLES.get(variant, _SPARE[hashlib.sha256(variant.encode()).digest()[0] % len(_SPARE)])


def styles(variants: Iterable[str]) -> dict[str, Style]:
    """Each variant's :func:`style`; where another variant has it, a free one of its colour, as long as any is left."""
    taken: dict[str, Style] = {}
    for variant in sorted(dict.fromkeys(variants), key=lambda v: v not in _STYLES):
        own = style(variant)
        lines = itertools.product(_MARKERS, ("-", _DASHED, _DASHDOT, _DOTTED))
        looks = [own, *(replace(own, line=line, marker=marker) for marker, line in lines)]
        taken[variant] = next((look for look in looks if look not in taken.values()), own)
    return {variant: taken[variant] for variant in variants}


def label(variant: str) -> str:
    """The variant's name for readers: `ict-10` is "ICT 10 %", as a number at the end of a name is read as a share."""
    if variant in _LABELS:
        return _LABELS[variant]
    if named := re.fullmatch(r"(.+)-(\d+)", variant):
        return f"{_SELECTORS.get(named[1], named[1].capitalize())} {named[2]} %"
    return variant


Marks = Literal["lines", "filled", "open", "markers"]  # in a legend: a line, a line with a marker, a marker


def _entry(variant: str, look: Style, marks: Marks) -> Line2D:
    return Line2D(
        [],
        [],
        color=look.colour,
        linestyle="None" if marks == "markers" else look.line,
        marker="None" if marks == "lines" else look.marker,
        markersize=3.5,
        markerfacecolor=look.colour if marks == "filled" else "white",
        linewidth=max(look.width, 1.4),
        label=label(variant),
    )


PANEL_HEIGHT = 2.1  # inches
LEGEND_LINE = 0.17  # inches high
LEGEND_ENTRY = (1.2, 1.0)  # inches wide: with a line, and with a marker alone
HANDLE = 3.2  # width in font sizes: two dashes of every pattern
BESIDE = 3  # panels of one model in a row
_LETTER = 0.045  # inches of a letter of a label
NOTE_LINE = 0.11  # inches high
NOTE_CHARACTERS = 21  # per inch
GUIDE: dict[str, Any] = {"color": "#555555", "linestyle": ":", "linewidth": 0.9}  # a reference line


def figure_width(columns: int) -> float:
    """Width in inches: a page's column for one panel, its text width for up to three, then more with every panel."""
    return COLUMN_WIDTH if columns == 1 else max(TEXT_WIDTH, 2.2 * columns)


def grid(
    rows: int, titles: Sequence[str], looks: Mapping[str, Style], marks: Marks = "lines", height: float = PANEL_HEIGHT
) -> tuple[Figure, NDArray]:
    """An empty figure with titles and the looks' legend, and its axes, shape (rows, titles), `height` inches a row."""
    width = figure_width(len(titles))
    lines = math.ceil(len(looks) / (width // LEGEND_ENTRY[marks == "markers"]))
    figure = Figure(figsize=(width, rows * height + lines * LEGEND_LINE + 0.1), layout="constrained")
    axes = figure.subplots(rows, len(titles), squeeze=False, sharex="col", sharey="row")
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title)
    columns = math.ceil(len(looks) / lines)
    entries = [_entry(variant, look, marks) for variant, look in looks.items()]
    figure.legend(
        handles=[entry for column in range(columns) for entry in entries[column::columns]],  # column by column
        loc="outside lower center",
        ncols=columns,
        handlelength=1.0 if marks == "markers" else HANDLE,
        columnspacing=1.2,
    )
    return figure, axes


@rc_context(RC)
def sentence(text: str) -> Figure:
    """A figure that says why nothing is drawn, so that a study without an ablation still has its report."""
    figure = Figure(figsize=(COLUMN_WIDTH, 1.0), layout="constrained")
    axis = figure.subplots()
    axis.set_axis_off()
    axis.text(0.5, 0.5, textwrap.fill(text, 58), transform=axis.transAxes, ha="center", va="center")
    figure.set_label(text)
    return figure


def draw_note(figure: Figure, note: str) -> None:
    """Add a note, without its marks of code, in small print under all else; the figure's panels keep their size."""
    if not note:
        return
    width, height = figure.get_size_inches()
    lines = textwrap.wrap(note.replace("`", ""), int(width * NOTE_CHARACTERS))
    extra = NOTE_LINE * len(lines) + 0.05
    total = height + extra
    figure.set_size_inches(width, total)
    looks: dict[str, Any] = {"size": 6, "color": "#555555", "linespacing": 1.1, "in_layout": False, "parse_math": False}
    figure.text(0.5, 0.03 / total, "\n".join(lines), ha="center", va="bottom", **looks)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0.0, extra / total, 1.0, height / total))
    for legend in figure.legends:  # pinned to the figure's lower edge, not to the layout's
        legend.borderaxespad += 72 * extra / legend.prop.get_size_in_points()


def present(frame: pd.DataFrame, variants: Sequence[str]) -> dict[str, Style]:
    """Those of the variants that the frame has, in the given order, with :func:`styles` of all; a UserError if none."""
    arms = {v: look for v, look in styles(variants).items() if (frame["variant"] == v).any()}
    if not arms:
        raise UserError(f"nothing to draw: none of the variants {list(variants)} has rows")
    return arms


def average_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the average over the benchmarks, :data:`PASS_METRICS` only."""
    return frame[(frame["benchmark"] == AVERAGE) & frame["metric"].isin(PASS_METRICS)]


def titles(frame: pd.DataFrame, variants: Collection[str]) -> dict[str, str]:
    """Each model's title, in order: its name, and with how many seeds its variants (base aside) were trained."""
    trained = frame[frame["variant"].isin(list(variants)) & (frame["variant"] != BASE)]
    seeds = trained.groupby(["model", "variant"])["seed"].nunique()
    models = set(trained["model"])
    return {
        str(model): f"{model} ({seed_range(seeds[model], 'seed')})" if model in models else str(model)
        for model in frame["model"].unique()
    }


def training_curves(
    log: pd.DataFrame, variants: Sequence[str], names: Mapping[str, str], window: int, height: float = PANEL_HEIGHT
) -> tuple[Figure, NDArray]:
    """Draw columns of the log (`names`: column -> axis label) over optimiser steps, in axes of shape (columns, models).

    Curves are each variant's mean over seeds, in a band from lowest to highest, after a centred moving mean over
    `window` steps. A step at which a seed has no value is a gap, because a mean over the other seeds would jump.
    """
    arms = present(log, variants)
    models = titles(log, arms)
    figure, axes = grid(len(names), list(models.values()), arms, height=height)
    for row, (column, name) in zip(axes, names.items(), strict=True):
        for axis, model in zip(row, models, strict=True):
            for variant, look in arms.items():
                chosen = log[(log["model"] == model) & (log["variant"] == variant)]
                raw = chosen.pivot(index="step", columns="seed", values=column)
                smooth = raw.rolling(window, center=True, min_periods=1).mean().where(raw.notna())
                if not smooth.empty:
                    draw_band(axis, smooth.index.to_numpy(), smooth.to_numpy(np.float64).T, look)
        row[0].set_ylabel(name)
    for axis in axes[-1]:
        axis.set_xlabel("Optimiser step")
    figure.align_ylabels(list(axes[:, 0]))
    return figure, axes


def draw_band(axis: Axes, x: NDArray, runs: NDArray[np.float64], look: Style) -> None:
    """Draw the mean over `runs`, shape (runs, points), in a band from lowest to highest; NaN is a gap."""
    mean = runs.mean(axis=0)
    axis.fill_between(x, runs.min(axis=0), runs.max(axis=0), color=look.colour, alpha=0.12, linewidth=0)
    axis.plot(x, mean, color=look.colour, linestyle=look.line, linewidth=look.width)


def row_panels(
    rows: int, titles: Sequence[str], names: Sequence[str], line: float, sharex: Literal["col", "none"] = "col"
) -> tuple[Figure, NDArray]:
    """An empty figure and its axes, shape (rows, titles), of named lines `line` inches high; line i is at height i."""
    size = (figure_width(len(titles)), rows * line * (len(names) + 0.4) + 0.35 * rows + 0.45)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, len(titles), squeeze=False, sharex=sharex, sharey="row")
    for row in axes:
        row[0].set_yticks(range(len(names)), names)
        row[0].set_ylim(len(names) - 0.3, -0.7)
        for axis in row:
            axis.grid(visible=False, axis="y")
            axis.grid(visible=True, axis="x")
            axis.tick_params(axis="y", length=0)
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title)
    return figure, axes


def variant_panels(
    models: Sequence[str], variants: Collection[str], titles: Sequence[str], line: float
) -> tuple[Figure, dict[str, list[Axes]]]:
    """An empty figure and each model's axes: one per title, three in a row, with one line per variant in each."""
    blocks = -(-len(titles) // BESIDE) * len(models)
    upright = _LETTER * max(map(len, models), default=0)  # a model's name beside its panels
    line = max(line, upright / (len(variants) + 0.4))
    figure, axes = row_panels(blocks, [""] * BESIDE, [label(v) for v in variants], line, "none")
    panels: dict[str, list[Axes]] = {}
    for model, block in zip(models, np.split(axes, len(models)), strict=True):
        block[0, 0].set_ylabel(model)
        panels[model] = list(block.flat)
        for axis, title in zip(panels[model], titles, strict=True):
            axis.set_title(title)
    return figure, panels


def draw_interval(
    axis: Axes, row: float, low: float, high: float, colour: str, width: float, alpha: float = 1.0
) -> None:
    """Draw a horizontal bar from `low` to `high` at height `row`; nothing where the interval does not exist (NaN)."""
    if np.isfinite(low) and np.isfinite(high):
        axis.plot([low, high], [row, row], color=colour, linewidth=width, alpha=alpha, solid_capstyle="butt")


def draw_seeds(axis: Axes, row: float, values: ArrayLike, limits: tuple[float, float, float], look: Style) -> None:
    """Draw a variant's runs (shares or NaN) in percent around height `row`: a marker each, their mean, its interval.

    `limits` are the mean and the interval's ends; all runs, however many, lie within :data:`_ROOM`.
    """
    sample = 100 * np.asarray(values, dtype=np.float64)
    sample = sample[np.isfinite(sample)]
    if not sample.size:
        return
    mean, low, high = (100 * limit for limit in limits)
    draw_interval(axis, row, low, high, look.colour, 2.2, alpha=0.35)
    heights = row + side_by_side(sample.size, min(_APART, _ROOM / max(1, sample.size - 1)))
    axis.plot(sample, heights, look.marker, color=look.colour, markersize=3.0, mfc="none", mew=0.7, clip_on=False)
    axis.plot(mean, row, "|", color=look.colour, markersize=8, mew=1.5, clip_on=False)


def side_by_side(number: int, step: float) -> NDArray[np.float64]:
    """Offsets around 0, `step` apart, that keep equal values of several runs visible, shape (number,)."""
    return np.asarray(step * (np.arange(number) - (number - 1) / 2), dtype=np.float64)
