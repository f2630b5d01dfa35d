"""Token entropies over optimiser steps: Shannon's H1 above, second-order Renyi's H2 below, one column per model."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from ict_core.figures.panels import training_curves

NAMES = {"h1": r"Shannon $H_1$ (nats)", "h2": r"Rényi $H_2$ (nats)"}


def draw(log: pd.DataFrame, variants: Sequence[str]) -> Figure:
    return training_curves(log, variants, NAMES, window=1)[0]
