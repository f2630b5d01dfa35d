"""Lines of the single-logit theory: one for each source of distributions, random ones and each model's tokens."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ict_core.figures._panels import TEXT_WIDTH, present
from ict_core.theory import RANDOM, SIZES

HEIGHT = 2.6  # inches
_RANDOM_LOOKS = [{"color": "#8A8A8A", "linestyle": line, "linewidth": 1.0} for line in ("-", "--", "-.", ":")]
_MODEL_LOOKS = [
    {"color": colour, "linestyle": "-", "linewidth": 1.6}
    for colour in ("#4477AA", "#EE6677", "#228833", "#AA3377", "#66CCEE")  # Tol's bright ones: no method's
]
Looks = dict[str, dict[str, Any]]  # the line of every source, the random distributions first


class Panels(NamedTuple):
    """An empty figure with three axes beside each other over the legend, each source's line, and what to draw."""

    figure: Figure
    axes: Sequence[Axes]
    looks: Looks
    rows: pd.DataFrame
    bins: pd.DataFrame


def three_panels(
    quantities: pd.DataFrame, single_logit: pd.DataFrame, single_logit_bins: pd.DataFrame, variants: Sequence[str]
) -> Panels:
    """The panels for the tokens of the shown variants; a UserError if none of the wanted ones has rows."""
    present(quantities, variants)
    rows, bins = (frame[frame["variants"] == "shown"] for frame in (single_logit, single_logit_bins))
    sources = rows["states"].unique()
    looks = dict(zip(sources, [*_RANDOM_LOOKS[: len(RANDOM)], *_MODEL_LOOKS * len(sources)], strict=False))
    figure = Figure(figsize=(TEXT_WIDTH, HEIGHT), layout="constrained")
    axes = figure.subplots(1, 3)
    handles = [axes[0].plot([], [], **look, label=name)[0] for name, look in looks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return Panels(figure, axes, looks, rows, bins)


def draw_lines(axis: Axes, rows: pd.DataFrame, x: pd.Series, looks: Looks, most: float = np.inf) -> None:
    """A line a source, in percent, with the interval over the seeds as a band, cut at 0 and at `most`."""
    for name, look in looks.items():
        chosen = (rows["states"] == name).to_numpy()
        mean, low, high = (100 * rows.loc[chosen, column].to_numpy() for column in ("mean", "low", "high"))
        axis.plot(x[chosen], mean, **look)
        low, high = np.clip(low, 0, most), np.clip(high, 0, most)
        axis.fill_between(x[chosen], low, high, color=look["color"], alpha=0.15, linewidth=0)


def log_scale(axis: Axes, x: Sequence[float], y: Sequence[float] = ()) -> None:
    """A logarithmic horizontal axis with these ticks, and a vertical one where it has ticks."""
    axis.set_xscale("log")
    axis.set_xticks(x, [f"{tick:g}" for tick in x])
    if y:
        axis.set_yscale("log")
        axis.set_yticks(y, [f"{tick:g}" for tick in y])
    axis.minorticks_off()


def draw_sizes(axis: Axes, rows: pd.DataFrame, sign: int, looks: Looks, most: float = np.inf) -> None:
    """One measure and regime over the size of the logit's step, up (1) or down (-1); bands as of :func:`draw_lines`."""
    chosen = rows[np.sign(rows["shift"]) == sign]
    draw_lines(axis, chosen, chosen["shift"].abs(), looks, most)
    log_scale(axis, SIZES)
    axis.set_xlabel(f"logit {'raised' if sign > 0 else 'lowered'} by (nats)")
