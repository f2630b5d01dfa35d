"""Training reward over optimiser steps, one panel a model."""

from collections.abc import Sequence

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from ict_core.figures.declaration import Declaration
from ict_core.figures.panels import draw_runs, grid, present, titles
from ict_core.figures.style import RC

FIGURE = Declaration(
    place=1,
    title="Training reward",
    caption=(
        "Share of the rollouts of a batch that the verifier accepts, a centred mean over 5 optimiser steps. Lines are "
        "means over the training seeds that each panel names, bands run from the lowest to the highest seed. Where "
        "curves are equal, the wide one and the dashed one let each other show."
    ),
    inputs=("log",),
)

WINDOW = 5  # optimiser steps in the moving mean: the reward of one batch is noisy


def draw(log: pd.DataFrame, variants: Sequence[str]) -> Figure:
    """Draw the mean reward of the rollout batch, in percent, with a band over the seeds.

    Args:
        log: a frame of `records.STUDY_LOG`.
        variants: the variants to show, in the legend's order; those without rows (base) are left out.

    Raises:
        UserError: none of the variants has rows.
    """
    shown = present(log, variants)
    models = titles(log, shown)
    percent = log.assign(reward=100 * log["reward"])
    with rc_context(RC):
        figure, axes = grid(1, list(models.values()), shown)
        for axis, model in zip(axes[0], models, strict=True):
            draw_runs(axis, percent[percent["model"] == model], "reward", shown, WINDOW)
            axis.set_xlabel("Optimiser step")
        axes[0, 0].set_ylabel(f"Training reward (%),\nmean of {WINDOW} steps")
    return figure
