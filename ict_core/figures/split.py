"""How the kept tokens split into high and low entropy; drawn only for the paper's Figure 4."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ict_core.figures.panels import COLUMN_WIDTH, GUIDE, label, present, style

_LARGEST_SHARE = 0.95  # at which the mean and the limits of its interval are cut
PAPER = {"GSM8K": 1.03, "MATH": 0.99}  # the ratios that the paper gives


def draw(quantities: pd.DataFrame, quantity_means: pd.DataFrame, variants: Sequence[str]) -> Figure:
    """Draw the ratio of kept tokens above the median H1 to those below it, per run and with a 95 % interval over runs.

    The interval is that of the share, carried over to the ratio; the dotted lines are the paper's ratios.
    """
    rows, means = (f[f["quantity"] == "high_entropy_share_of_kept"] for f in (quantities, quantity_means))
    arms = present(rows, variants)
    models = list(rows["model"].unique())
    figure = Figure(figsize=(COLUMN_WIDTH, 0.7 + 0.3 * len(models) * len(arms)), layout="constrained")
    axis = figure.subplots()
    names: list[str] = []
    for model in models:
        for variant in arms:
            shares = rows[(rows["model"] == model) & (rows["variant"] == variant)]["value"].dropna().to_numpy()
            if not shares.size:
                continue
            colour, height = style(variant).colour, len(names)
            mean = means[(means["model"] == model) & (means["variant"] == variant)].iloc[0]
            limits = np.clip([mean["low"], mean["mean"], mean["high"]], 0, _LARGEST_SHARE)
            low, centre, high = limits / (1 - limits)
            axis.plot([low, high], [height, height], color=colour, linewidth=2.2, solid_capstyle="butt")
            axis.plot(shares / (1 - shares), [height] * shares.size, "o", color=colour, markersize=2.6, alpha=0.6)
            axis.plot([centre], [height], "D", color=colour, markersize=4.5)
            names.append(f"{model}, {label(variant)}")
    for name, ratio in PAPER.items():
        axis.axvline(ratio, **GUIDE)
        axis.text(ratio, 1.01, name, transform=axis.get_xaxis_transform(), ha="left" if ratio > 1 else "right", size=6)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlabel("Kept tokens, high to low entropy")
    return figure
