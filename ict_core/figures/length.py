"""Response length and truncation over optimiser steps, one column per model."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from ict_core.figures.panels import training_curves

WINDOW = 5  # optimiser steps in the moving mean
LEAST_TOP = 1.0  # percent: the truncation axis reaches at least this far, so that a truncation of 0 shows as a flat 0


def draw(log: pd.DataFrame, variants: Sequence[str]) -> Figure:
    percent = log.assign(truncated_share=100 * log["truncated_share"])
    names = {
        "length_mean": f"Response length (tokens),\nmean of {WINDOW} steps",
        "truncated_share": f"Responses cut off (%),\nmean of {WINDOW} steps",
    }
    figure, axes = training_curves(percent, variants, names, WINDOW, height=1.7)
    low, high = axes[1, 0].get_ylim()
    axes[1, 0].set_ylim(min(low, 0.0), max(high, LEAST_TOP))
    return figure
