"""Training reward over optimiser steps, one panel per model."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from ict_core.figures.panels import training_curves

WINDOW = 5  # optimiser steps in the moving mean: the reward of one batch is noisy


def draw(log: pd.DataFrame, variants: Sequence[str]) -> Figure:
    percent = log.assign(reward=100 * log["reward"])
    names = {"reward": f"Training reward (%),\nmean of {WINDOW} steps"}
    return training_curves(percent, variants, names, WINDOW)[0]
