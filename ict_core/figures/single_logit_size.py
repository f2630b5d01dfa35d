"""The size that the first-order statement gives H2's change against the exact one, and H1's direction beside it."""

import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from ict_core.figures._panels import GUIDE
from ict_core.figures._registry import FigureDeclaration
from ict_core.figures._sources import draw_lines, draw_sizes, log_scale, three_panels
from ict_core.theory import SIZES

FIGURE = FigureDeclaration(
    place=17,
    title="Appendix: how far one logit's change moves the entropies",
    caption=(
        "The sampled token's logit alone is raised or lowered. Error: the median of the distance of H2's first-order "
        "change, -2 d π (π / β - 1), from the exact one, relative to it. Last panel: share for which H1 and H2 change "
        "in the same direction, exactly, at a step of 0.1 nats, over π; the dotted line is 1 / e. To first order they "
        "part only where exp(-H1) < π < β. Grey: random distributions, Dirichlet(concentration) of so many tokens. "
        "Coloured: the tokens sampled in training, the mean over the training seeds in its 95 % t interval."
    ),
    inputs=("quantities", "single_logit", "single_logit_bins"),
)


def draw(
    quantities: pd.DataFrame, single_logit: pd.DataFrame, single_logit_bins: pd.DataFrame, variants: Sequence[str]
) -> Figure:
    """Draw the statement's error and where H1 follows, for random distributions and each model's sampled tokens."""
    figure, (left, middle, right), looks, rows, bins = three_panels(
        quantities, single_logit, single_logit_bins, variants
    )
    sizes = rows[(rows["measure"] == "error_median") & (rows["regime"] == "all")]
    for axis, sign in ((left, 1), (middle, -1)):
        draw_sizes(axis, sizes, sign, looks)
        log_scale(axis, SIZES, (1, 10, 100))
        axis.set_title("Error of the size, median (%)")
    together = bins[bins["measure"] == "together"]
    draw_lines(right, together, (together["start"] + together["end"]) / 2, looks, 100)
    right.axvline(1 / math.e, **GUIDE)
    right.set_xlabel("π")
    right.set_ylim(0, 103)
    right.set_title("$H_1$ moves with $H_2$ (%)")
    return figure
