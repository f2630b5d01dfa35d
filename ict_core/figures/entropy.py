"""Token entropies over optimiser steps: Shannon's H1 above, second-order Renyi's H2 below, one column per model."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from ict_core.figures.panels import training_curves
from ict_core.figures.registry import FigureDeclaration

FIGURE = FigureDeclaration(
    place=2,
    title="Token entropy during training",
    caption=(
        "Mean entropy of the policy over all response tokens of a rollout batch: Shannon's H1 above, second-order "
        "Rényi's H2 below. Lines are means over the training seeds that each panel names, bands run from the lowest to "
        "the highest seed; nothing is smoothed."
    ),
    inputs=("log",),
)

NAMES = {"h1": r"Shannon $H_1$ (nats)", "h2": r"Rényi $H_2$ (nats)"}


def draw(log: pd.DataFrame, variants: Sequence[str]) -> Figure:
    return training_curves(log, variants, NAMES, window=1)[0]
