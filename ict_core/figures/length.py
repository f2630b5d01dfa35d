"""Response length and truncation over optimiser steps, one column a model."""

from collections.abc import Sequence

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from ict_core.figures.declaration import Declaration
from ict_core.figures.panels import draw_runs, grid, present, titles
from ict_core.figures.style import RC

FIGURE = Declaration(
    place=15,
    title="Response length and truncation during training",
    caption=(
        "Mean length of the responses of a rollout batch in tokens, and the share of them that were cut off at the "
        "longest length allowed; centred means over 5 optimiser steps. Lines are means over the training seeds that "
        "each panel names, bands run from the lowest to the highest seed."
    ),
    inputs=("log",),
)

WINDOW = 5  # optimiser steps in the moving mean
LEAST_TOP = 1.0  # percent: the truncation axis reaches at least this far, so that nothing truncated reads as a flat 0


def draw(log: pd.DataFrame, variants: Sequence[str]) -> Figure:
    """Draw the mean response length in tokens and, below, the truncated share in percent, with a band over the seeds.

    Args:
        log: a frame of `records.STUDY_LOG`.
        variants: the variants to show, in the legend's order; those without rows (base) are left out.

    Raises:
        UserError: none of the variants has rows.
    """
    shown = present(log, variants)
    models = titles(log, shown)
    percent = log.assign(truncated_share=100 * log["truncated_share"])
    with rc_context(RC):
        figure, axes = grid(2, list(models.values()), shown, height=1.7)
        for column, model in enumerate(models):
            of_model = percent[percent["model"] == model]
            draw_runs(axes[0, column], of_model, "length_mean", shown, WINDOW)
            draw_runs(axes[1, column], of_model, "truncated_share", shown, WINDOW)
            axes[1, column].set_xlabel("Optimiser step")
        low, high = axes[1, 0].get_ylim()
        axes[1, 0].set_ylim(min(low, 0.0), max(high, LEAST_TOP))
        axes[0, 0].set_ylabel(f"Response length (tokens),\nmean of {WINDOW} steps")
        axes[1, 0].set_ylabel(f"Responses cut off (%),\nmean of {WINDOW} steps")
        figure.align_ylabels(list(axes[:, 0]))
    return figure
