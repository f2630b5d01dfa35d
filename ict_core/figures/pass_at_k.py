"""Pass@k over k, averaged over the benchmarks, one panel per model."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ict_core.figures.panels import Style, grid, present, side_by_side, titles
from ict_core.statistics.schemas import AVERAGE, BASE

SPREAD = 0.06  # in doublings of k: the distance between two variants at one k
WIDEST = 0.5  # in doublings of k: the most that all variants may take


def _draw_model(axis: Axes, levels: pd.DataFrame, runs: pd.DataFrame, looks: Mapping[str, Style]) -> None:
    """Draw each variant's mean over seeds as a line, its intervals as bars and its runs as dots; base: line only."""
    trained = [v for v in looks if v != BASE]
    shifts = side_by_side(len(trained), min(SPREAD, WIDEST / max(len(trained), 1)))
    for variant, look in looks.items():
        arm = runs[runs["variant"] == variant]
        mean = arm.groupby("k")["value"].mean()
        shift = 1.0 if variant == BASE else 2 ** shifts[trained.index(variant)]
        axis.plot(mean.index, 100 * mean, color=look.colour, linestyle=look.line, linewidth=look.width)
        if variant != BASE:
            level = levels[levels["variant"] == variant]
            axis.vlines(level["k"] * shift, 100 * level["low"], 100 * level["high"], look.colour, lw=1.6, alpha=0.3)
            shifted = arm["k"] * shift
            axis.plot(shifted, 100 * arm["value"], look.marker, color=look.colour, markersize=2.6, mew=0, alpha=0.8)


def _passes(frame: pd.DataFrame) -> pd.DataFrame:
    k = frame["metric"].str.extract(r"^pass@(\d+)$")[0]
    return frame.assign(k=k)[k.notna() & (frame["benchmark"] == AVERAGE)].astype({"k": "int64"})


def draw(levels: pd.DataFrame, runs: pd.DataFrame, variants: Sequence[str]) -> Figure:
    """Draw pass@k of the average in percent for every k in `runs`, on a logarithmic axis of k; base is always shown."""
    levels, runs = _passes(levels), _passes(runs)
    arms = present(runs, [BASE, *(v for v in variants if v != BASE)])
    models, ks = titles(runs, arms), sorted(runs["k"].unique())
    figure, axes = grid(1, list(models.values()), arms, marks="filled")
    for axis, model in zip(axes[0], models, strict=True):
        axis.set_xscale("log", base=2)
        _draw_model(axis, levels[levels["model"] == model], runs[runs["model"] == model], arms)
        axis.set_xticks(ks, [str(k) for k in ks])
        axis.set_xlabel("Samples $k$")
    axes[0, 0].set_ylabel("pass@$k$ (%), average\nover the benchmarks")
    return figure
