"""Training reward over optimiser steps, one panel per model."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from ict_core.figures.panels import training_curves
from ict_core.figures.registry import FigureDeclaration

FIGURE = FigureDeclaration(
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
    percent = log.assign(reward=100 * log["reward"])
    names = {"reward": f"Training reward (%),\nmean of {WINDOW} steps"}
    return training_curves(percent, variants, names, WINDOW)[0]
