"""How far any two rules agree: one matrix per model, kept sets above the diagonal and rankings below it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ict_core.figures.panels import COLUMN_WIDTH, TEXT_WIDTH, label, present, sentence, titles

CELL = (0.235, 0.42)  # inches: smallest and greatest side of a pair's square
NAMES = 1.1  # inches: the rules' names at the left and below
BARS = 1.15  # inches: the colour bars at the bottom
SETS = ScalarMappable(Normalize(0, 1), colormaps["Greens"])
RANKS = ScalarMappable(Normalize(-1, 1), colormaps["RdBu_r"])


def matrix(pairs: pd.DataFrame, rules: Sequence[str], column: str) -> NDArray[np.float64]:
    """The mean of a column over the rows of each pair, shape (rules, rules), symmetric; NaN for a pair without any."""
    swapped = pairs.rename(columns={"rule": "other", "other": "rule"})
    means = pd.concat([pairs, swapped]).groupby(["rule", "other"])[column].mean().unstack()
    return means.reindex(index=pd.Index(rules), columns=pd.Index(rules)).to_numpy(np.float64)


def _draw_matrix(axis: Axes, pairs: pd.DataFrame, rules: Sequence[str]) -> None:
    upper = np.triu(np.ones((len(rules), len(rules)), dtype=bool))
    values = np.where(upper, matrix(pairs, rules, "jaccard"), matrix(pairs, rules, "rank_correlation"))
    colours = np.where(upper[..., None], SETS.to_rgba(values), RANKS.to_rgba(values))
    colours[np.isnan(values)] = (0.94, 0.94, 0.94, 1.0)
    axis.imshow(colours, interpolation="nearest")
    for row, column in np.ndindex(*values.shape):
        value = float(values[row, column])
        if row == column:
            continue
        text = "–" if np.isnan(value) else f"{round(value, 2) + 0.0:.2f}".replace("0.", ".").replace("-", "−")
        dark = colours[row, column, :3] @ (0.30, 0.59, 0.11) < 0.5  # luminance
        axis.text(column, row, text, ha="center", va="center", size=5, color="white" if dark else "#222222")
    names = [label(rule) for rule in rules]
    axis.set_xticks(range(len(rules)), names, rotation=90)
    axis.set_yticks(range(len(rules)), names)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


@rc_context({"axes.grid": False})
def draw(overlap: pd.DataFrame, variants: Sequence[str]) -> Figure:
    names = pd.concat([overlap["rule"], overlap["other"]]).to_frame("variant")
    if overlap.empty or len(rules := list(present(names, variants))) == 1:
        return sentence("This study has one rule alone.")
    models = titles(overlap, list(overlap["variant"].unique()))
    side = float(np.clip((TEXT_WIDTH - NAMES) / len(rules), *CELL)) * len(rules) + NAMES
    across = max(1, min(len(models), int(TEXT_WIDTH / side)))
    down = -(-len(models) // across)
    size = (max(COLUMN_WIDTH, across * side), down * (side + 0.15) + BARS)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(down, across, squeeze=False)
    for axis in axes.flat[len(models) :]:
        axis.set_axis_off()
    for axis, (model, title) in zip(axes.flat, models.items(), strict=False):
        _draw_matrix(axis, overlap[overlap["model"] == model], rules)
        axis.set_title(title)
    for scale, words in ((SETS, "Jaccard index of the kept sets"), (RANKS, "Rank correlation of the scores")):
        bar = figure.colorbar(scale, ax=axes, location="bottom", aspect=45, fraction=0.04, pad=0.01)
        bar.set_label(words, size=7)
        bar.ax.tick_params(labelsize=6)
    return figure
