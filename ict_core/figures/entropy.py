"""Token entropies over optimiser steps: Shannon's H1 above, second-order Renyi's H2 below, one column a model."""

from collections.abc import Sequence

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from ict_core.figures.declaration import Declaration
from ict_core.figures.panels import draw_runs, grid, present, titles
from ict_core.figures.style import RC

FIGURE = Declaration(
    place=2,
    title="Token entropy during training",
    caption=(
        "Mean entropy of the policy over all response tokens of a rollout batch: Shannon's H1 above, second-order "
        "Rényi's H2 below. Lines are means over the training seeds that each panel names, bands run from the lowest to "
        "the highest seed; nothing is smoothed."
    ),
    inputs=("log",),
)

ROWS = (("h1", r"Shannon $H_1$ (nats)"), ("h2", r"Rényi $H_2$ (nats)"))


def draw(log: pd.DataFrame, variants: Sequence[str]) -> Figure:
    """Draw the mean H1 and H2 over all response tokens of the batch, unsmoothed, with a band over the seeds.

    Args:
        log: a frame of `records.STUDY_LOG`.
        variants: the variants to show, in the legend's order; those without rows (base) are left out.

    Raises:
        UserError: none of the variants has rows.
    """
    shown = present(log, variants)
    models = titles(log, shown)
    with rc_context(RC):
        figure, axes = grid(len(ROWS), list(models.values()), shown)
        for row, (column, name) in zip(axes, ROWS, strict=True):
            for axis, model in zip(row, models, strict=True):
                draw_runs(axis, log[log["model"] == model], column, shown, window=1)
            row[0].set_ylabel(name)
        for axis in axes[-1]:
            axis.set_xlabel("Optimiser step")
        figure.align_ylabels(list(axes[:, 0]))
    return figure
