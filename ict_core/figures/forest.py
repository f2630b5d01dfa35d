"""Forest plot: every method's difference from every baseline on the average over the benchmarks."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ict_core.figures.panels import average_rows, draw_interval, label, row_panels, sentence, style
from ict_core.statistics.pairing import paired_differences, seed_range
from ict_core.statistics.schemas import AVERAGE, DECLARED, PASS_METRICS

LINES = (0.108, 0.175)  # inches: smallest and greatest height of a line
TALLEST = 7.8  # inches: height of all lines together, if the smallest height of a line allows it
ROOM = 0.04  # share of the horizontal axis left free at either end
CUT = 0.3  # share of the span of t intervals and runs by which a two-way interval may widen it at either end
_GREY = "#444444"


class Line(NamedTuple):
    """A line of the plot: a heading of a model (depth 0) or of a group (1), or a comparison (2) and its rows' index."""

    text: str
    depth: int
    rows: Iterable[Hashable] = ()


def _run_differences(runs: pd.DataFrame, row: pd.Series) -> np.ndarray:
    chosen = runs[(runs["model"] == row["model"]) & (runs["metric"] == row["metric"])]
    ours, theirs = (chosen[chosen["variant"] == row[arm]].set_index("seed")["value"] for arm in ("variant", "baseline"))
    return 100 * paired_differences(ours, theirs).to_numpy(np.float64)


def _draw_contrast(axis: Axes, height: int, row: pd.Series, differences: np.ndarray) -> None:
    colour, declared = style(str(row["variant"])).colour, row["family"] == DECLARED
    draw_interval(axis, height, 100 * row["two_way_low"], 100 * row["two_way_high"], colour, 0.8)
    draw_interval(axis, height, 100 * row["low"], 100 * row["high"], colour, 4.5, alpha=0.4)
    axis.plot(differences, [height + 0.32] * len(differences), ".", color=colour, markersize=2.6, mew=0)
    face = colour if declared else "white"
    axis.plot(100 * row["difference"], height, "D", color=colour, mfc=face, markersize=3.0, mew=0.9, zorder=5)
    right, weight = axis.get_yaxis_transform(), "bold" if declared else "normal"
    axis.text(1.02, height, str(row["verdict"]), transform=right, va="center", size=6, weight=weight)


def _legend(figure: Figure, margin: float) -> None:
    marker: dict[str, Any] = {"color": _GREY, "linestyle": "None"}
    entries: list[Artist] = [
        Line2D([], [], marker="D", markersize=3.6, label="declared", **marker),
        Line2D([], [], marker="D", mfc="white", markersize=3.6, label="exploratory", **marker),
        Line2D([], [], marker=".", markersize=3.5, mew=0, label="one pair of runs", **marker),
        Line2D([], [], color=_GREY, alpha=0.4, linewidth=4.5, label="95 % t over seeds"),
        Line2D([], [], color=_GREY, linewidth=0.8, label="95 % two-way (new problems)"),
        Patch(color="#EDEDED", label=f"within ±{100 * margin:g} points"),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=3, columnspacing=1.4)


def _limits(rows: pd.DataFrame, differences: Sequence[np.ndarray], margin: float) -> tuple[float, float]:
    """The ends of the axis in points: margin, t intervals and runs fit in; a much longer two-way interval is cut."""
    band = 100 * margin
    points = 100 * rows[["low", "high", "difference", "two_way_low", "two_way_high"]].fillna(0.0)
    values = [-band, band, *points[["low", "high", "difference"]].to_numpy().ravel(), *np.concatenate(differences)]
    low, high = min(values), max(values)
    reach = CUT * (high - low)
    low = min(low, max(points["two_way_low"].min(), low - reach))
    high = max(high, min(points["two_way_high"].max(), high + reach))
    return low - ROOM * (high - low), high + ROOM * (high - low)


def draw_lines(rows: pd.DataFrame, lines: Sequence[Line], runs: pd.DataFrame, margin: float) -> Figure:
    """Draw contrasts (`rows`) in points, pass@1 left and pass@4 right, and the margin (a share) as a grey band."""
    runs = runs[runs["benchmark"] == AVERAGE]
    heights = {index: height for height, line in enumerate(lines) for index in line.rows}
    differences = [_run_differences(runs, row) for _, row in rows.iterrows()]
    limits = _limits(rows, differences, margin)
    line = float(np.clip(TALLEST / len(lines), *LINES))
    figure, axes = row_panels(1, PASS_METRICS, [text for text, *_ in lines], line=line)
    for axis, metric in zip(axes[0], PASS_METRICS, strict=True):
        axis.axvspan(-100 * margin, 100 * margin, color="#EDEDED", linewidth=0, zorder=0)
        axis.axvline(0, color=_GREY, linewidth=0.7, zorder=1)
        for (index, row), pairs in zip(rows.iterrows(), differences, strict=True):
            if row["metric"] == metric:
                _draw_contrast(axis, heights[index], row, pairs)
        for height, (_, depth, _) in enumerate(lines):
            if height and depth == 0:
                axis.axhline(height - 0.5, color="#B0B0B0", linewidth=0.5)
        axis.set_xlim(*limits)
        axis.set_xlabel("Difference (percent points)")
    looks: tuple[dict[str, str], ...] = ({"weight": "bold"}, {"style": "italic"}, {})  # by depth
    for text, (_, depth, _) in zip(axes[0, 0].get_yticklabels(), lines, strict=True):
        text.set(size=7 if line > 0.13 else 6, **looks[depth])
    _legend(figure, margin)
    return figure


def heading(model: str, rows: pd.DataFrame) -> Line:
    return Line(f"{model} ({seed_range(rows['seeds'], 'seed')})", 0)


def draw(contrasts: pd.DataFrame, runs: pd.DataFrame, variants: Sequence[str], margin: float) -> Figure:
    """Draw variant - baseline on the average, by model and baseline; declared contrasts are always shown."""
    rows = average_rows(contrasts)
    rows = rows[rows["variant"].isin(list(variants)) | (rows["family"] == DECLARED)]
    if rows.empty:
        return sentence("This study has no two methods to compare.")
    lines = []
    for model, model_rows in rows.groupby("model", sort=False):
        lines.append(heading(str(model), model_rows))
        for baseline, pairs in model_rows.groupby("baseline", sort=False):
            lines.append(Line(f"against {label(str(baseline))}", 1))
            for variant, members in pairs.groupby("variant", sort=False):
                lines.append(Line(label(str(variant)), 2, members.index))
    return draw_lines(rows, lines, runs, margin)
