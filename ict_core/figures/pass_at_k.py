"""Pass@k over k, averaged over the benchmarks, one panel a model."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ict_core.figures.panels import grid, present
from ict_core.figures.style import RC, style
from ict_core.statistics.runs import AVERAGE, BASE, run_frame

SPREAD = 0.36  # of a doubling of k: the width over which the runs' dots of one k stand side by side


def _draw_model(axis: Axes, runs: pd.DataFrame, variants: Sequence[str]) -> None:
    """Each variant's mean over seeds as a line, each run as a dot; base, a single evaluation, as a line alone."""
    trained = [v for v in variants if v != BASE]
    shifts = SPREAD * ((np.arange(len(trained)) + 0.5) / max(len(trained), 1) - 0.5)
    for variant in variants:
        arm = runs[runs["variant"] == variant]
        look, mean = style(variant), arm.groupby("k")["pass_at_k"].mean()
        axis.plot(mean.index, 100 * mean, color=look.colour, linestyle=look.line, linewidth=1.0)
        if variant != BASE:
            beside = arm["k"] * 2 ** shifts[trained.index(variant)]
            axis.plot(beside, 100 * arm["pass_at_k"], look.marker, color=look.colour, markersize=2.6, mew=0, alpha=0.8)


def draw(scores: pd.DataFrame, variants: Sequence[str]) -> Figure:
    """Draw pass@k in percent for k = 1, 2, 4, ... up to the smallest n, on a logarithmic axis of k.

    The dots of one k stand side by side so that they can be told apart: their k is the nearest tick's.

    Args:
        scores: a frame of `records.SCORES`.
        variants: the variants to show, in the legend's order; base is added in front where it was evaluated.

    Raises:
        UserError: incomplete scores (see `statistics.runs.run_frame`), or none of the variants has rows.
    """
    runs = run_frame(scores)
    runs = runs[runs["benchmark"] == AVERAGE]
    shown = present(runs, [BASE, *(v for v in variants if v != BASE)])
    models, ks = list(runs["model"].unique()), sorted(runs["k"].unique())
    with rc_context(RC):
        figure, axes = grid(1, models, shown, markers=True)
        for axis, model in zip(axes[0], models, strict=True):
            axis.set_xscale("log", base=2)
            _draw_model(axis, runs[runs["model"] == model], shown)
            axis.set_xticks(ks, [str(k) for k in ks])
            axis.set_xlabel("Samples $k$")
        axes[0, 0].set_ylabel("pass@$k$ (%), average\nover the benchmarks")
    return figure
