"""Accuracy on held-out problems over optimiser steps, one panel per model."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from ict_core.figures.panels import grid, present
from ict_core.statistics.pairing import seed_range


def draw(means: pd.DataFrame, variants: Sequence[str]) -> Figure:
    arms = present(means, variants)
    curves = means[means["variant"].isin(list(arms))]
    models = curves["model"].unique()
    titles = [f"{model} ({seed_range(curves.loc[curves['model'] == model, 'seeds'], 'seed')})" for model in models]
    figure, axes = grid(1, titles, arms)
    for axis, model in zip(axes[0], models, strict=True):
        rows = curves[curves["model"] == model]
        for variant, look in arms.items():
            curve = rows[rows["variant"] == variant].sort_values("step")
            low, high = (100 * curve[end].clip(0, 1) for end in ("low", "high"))
            if curve["seeds"].min() > 2:  # the band of two runs is often wider than the panel
                axis.fill_between(curve["step"], low, high, color=look.colour, alpha=0.12, linewidth=0)
            axis.plot(curve["step"], 100 * curve["mean"], color=look.colour, linestyle=look.line, linewidth=look.width)
        axis.set_xlabel("Optimiser step")
    axes[0, 0].set_ylabel("Held-out answers right (%)")
    return figure
