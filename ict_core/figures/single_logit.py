"""The sign of H2's first-order change: how often the exact change has the same sign, and where it no longer has."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ict_core.figures.panels import GUIDE, TEXT_WIDTH
from ict_core.statistics.schemas import ALL
from ict_core.theory.single_logit import RANDOM, RATIOS, SIZES, turning_shift

PURITIES = {0.05: "top", 0.9: "bottom"}  # beta of a closed-form curve -> side of its label


HEIGHT = 2.6  # inches
_RANDOM_LOOKS = [{"color": "#8A8A8A", "linestyle": line, "linewidth": 1.0} for line in ("-", "--", "-.", ":")]
_MODEL_LOOKS = [
    {"color": colour, "linestyle": "-", "linewidth": 1.6}
    for colour in ("#4477AA", "#EE6677", "#228833", "#AA3377", "#66CCEE")  # Tol's bright colours, which no method has
]
Looks = dict[str, dict[str, Any]]  # source -> its line, the random distributions first


def _log_scale(axis: Axes, x: Sequence[float], y: Sequence[float] = ()) -> None:
    axis.set_xscale("log")
    axis.set_xticks(x, [f"{tick:g}" for tick in x])
    if y:
        axis.set_yscale("log")
        axis.set_yticks(y, [f"{tick:g}" for tick in y])
    axis.minorticks_off()


def _draw_sizes(axis: Axes, rows: pd.DataFrame, sign: int, looks: Looks) -> None:
    """Draw a line per source over the logit's step, up (1) or down (-1), in percent with its interval over seeds."""
    rows = rows[np.sign(rows["shift"]) == sign]
    for name, look in looks.items():
        source = rows[rows["states"] == name]
        x = source["shift"].abs()
        axis.plot(x, 100 * source["mean"], **look)
        low, high = ((100 * source[column]).clip(0, 100) for column in ("low", "high"))
        axis.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0)
    _log_scale(axis, SIZES)
    axis.set_xlabel(f"logit {'raised' if sign > 0 else 'lowered'} by (nats)")


def _draw_breaking(axis: Axes, rows: pd.DataFrame, looks: Looks) -> None:
    ratio = np.geomspace(RATIOS[0], RATIOS[-1], 400)
    for beta, side in PURITIES.items():
        turn = np.abs(turning_shift(np.log(ratio * beta), -np.log(beta)))
        axis.plot(ratio, np.where(np.isfinite(turn), turn, np.nan), color="#B0B0B0", linewidth=0.8)
        axis.text(ratio[0], turn[0] * (1.1 if side == "bottom" else 0.85), f"β = {beta:g}", size=6, va=side)
    for name, look in looks.items():
        bins = rows[rows["states"] == name]
        axis.plot(np.sqrt(bins["start"] * bins["end"]), bins["mean"], "o", color=look["color"], markersize=2.6)
    _log_scale(axis, (0.01, 0.1, 1), (0.01, 0.1, 1, 10))
    axis.set_ylim(0.01, 20)
    axis.axvline(1, **GUIDE)
    axis.set_xlabel("π / β")


def draw(single_logit: pd.DataFrame, single_logit_bins: pd.DataFrame, variants: Sequence[str]) -> Figure:
    rows, bins = (frame[frame["variants"] == ALL] for frame in (single_logit, single_logit_bins))
    sources = rows["states"].unique()
    looks = dict(zip(sources, [*_RANDOM_LOOKS[: len(RANDOM)], *_MODEL_LOOKS * len(sources)], strict=False))
    figure = Figure(figsize=(TEXT_WIDTH, HEIGHT), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    handles = [left.plot([], [], **look, label=name)[0] for name, look in looks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    signs = rows[rows["measure"] == "same_sign"]
    _draw_sizes(left, signs[signs["regime"] == "p < beta"], 1, looks)
    left.set_title("Same sign, π < β (%)")
    _draw_sizes(middle, signs[signs["regime"] == "p > beta"], -1, looks)
    middle.set_title("Same sign, π > β (%)")
    _draw_breaking(right, bins[bins["measure"] == "breaking"], looks)
    right.set_title("Sign breaks at (nats)")
    for axis in (left, middle):
        axis.set_ylim(0, 103)
    return figure
