"""The paper's statements about kept tokens and about entropy in training: a panel per statement, a row per variant."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ict_core.figures.panels import GUIDE, draw_seeds, present, variant_panels
from ict_core.statistics.pairing import limits_by

LINE = 0.16  # inches per variant


class Statement(NamedTuple):
    """A panel's labels, the paper's value or range of its quantity in percent, and whether the quantity is a share."""

    title: str
    axis: str
    paper: tuple[float, ...]
    share: bool = False


STATEMENTS = {
    "distance_from_beta": Statement("Distance from beta", "|π − β|, kept less dropped (%)", (0.0,)),
    "high_entropy_share_of_kept": Statement("High entropy", "kept above the median $H_1$ (%)", (49.7, 50.7), True),
    "probability_of_kept": Statement("Probability", "mean π of kept (%)", (9.0, 27.0), True),
    "elbow": Statement("Elbow of sorted u", "tokens (%)", (10.0,), True),
    "h1_change": Statement("$H_1$ over training", "relative change (%)", (0.0,)),
    "h2_change": Statement("$H_2$ over training", "relative change (%)", (0.0,)),
}


def draw(quantities: pd.DataFrame, quantity_means: pd.DataFrame, variants: Sequence[str]) -> Figure:
    arms, models = present(quantities, variants), [str(model) for model in quantities["model"].unique()]
    limits = limits_by(quantity_means, ["model", "variant", "quantity"])
    figure, panels = variant_panels(models, arms, [s.title for s in STATEMENTS.values()], LINE)
    for model, axes in panels.items():
        for axis, (quantity, statement) in zip(axes, STATEMENTS.items(), strict=True):
            rows = quantities[(quantities["model"] == model) & (quantities["quantity"] == quantity)]
            for height, (variant, look) in enumerate(arms.items()):
                if (model, variant, quantity) in limits:
                    runs = rows.loc[rows["variant"] == variant, "value"]
                    draw_seeds(axis, height, runs, limits[model, variant, quantity], look)
            if len(statement.paper) == 2:
                axis.axvspan(*statement.paper, color="#DDDDDD", linewidth=0)
            else:
                axis.axvline(*statement.paper, **GUIDE)
            if statement.share:
                axis.set_xlim(0, 100)
            axis.set_xlabel(statement.axis)
    return figure
