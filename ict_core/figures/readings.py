"""The readings of the paper: the kept tokens' “probability” and share above the cut, one point per reading."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from ict_core.figures.panels import PANEL_HEIGHT, TEXT_WIDTH

CAPTION = (
    "A point a reading of the paper's text: the share of the kept tokens above the cut of H1 over what is taken for "
    "their “probability”. The colours are four ways to take it: p(a) of the token's own distribution, P_avg(a) of its "
    "group's mean, and the purity β of either. In the grey field both are as the paper prints them. A point is filled "
    "where the elbow is too; a filled point in the field would give all three."
)
COLOURS = {"p(a)": "#0072B2", "P_avg(a)": "#D55E00", "beta": "#009E73", "beta of P_avg": "#CC79A7"}


def draw(readings: pd.DataFrame, ranges: Mapping[str, tuple[float, float]]) -> Figure:
    """Draw `records.STUDY_READINGS`, a row per model and a panel per set of prompts; filled if the elbow is in range.

    In the grey field both figures are in range (`ranges`, by name). The cut at the median of the kept is left out.
    """
    sets = readings["set"].unique()
    models = list(readings.groupby(["model", "variant"], sort=False))
    size = (TEXT_WIDTH, PANEL_HEIGHT * len(models) + 0.4)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(models), len(sets), squeeze=False, sharex=True, sharey=True)
    (left, right), (bottom, top) = (tuple(100 * end for end in ranges[f]) for f in ("probability", "high_share"))
    for row, ((model, variant), cells) in zip(axes, models, strict=True):
        for axis, name in zip(row, sets, strict=True):
            axis.add_patch(Rectangle((left, bottom), right - left, top - bottom, color="#D9D9D9", zorder=0.5))
            points = cells[(cells["set"] == name) & (cells["cut"] != "median of the kept")]
            for (quantity, fits), group in points.groupby(["quantity", "elbow_fits"]):
                colour = COLOURS[str(quantity)]
                face = colour if fits else "none"
                x, y = 100 * group["probability"], 100 * group["high_share"]
                axis.plot(x, y, "o", color=colour, markersize=2.5, mfc=face, mew=0.5, clip_on=False)
            axis.set_title(f"{model} {variant}, {name} set")
            axis.set(xlim=(0, 100), ylim=(0, 100))
        row[0].set_ylabel("Kept above the cut (%)")
    for axis in axes[-1]:
        axis.set_xlabel("“Probability” of kept (%)")
    marks = [Line2D([], [], color=colour, marker="o", linestyle="None", markersize=3.5) for colour in COLOURS.values()]
    figure.legend(marks, list(COLOURS), loc="outside lower center", ncols=len(marks), handlelength=1.0)
    return figure
