"""2-D densities of a token's probability pi and the strategy purity beta, for kept and for dropped tokens."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from ict_core.figures.panels import figure_width, label, present, sentence

BINS = 20  # along each axis
LEAST = 1e-4  # share of a panel's tokens: the lower end of the colour scale; rarer cells have its colour
LARGEST = 1.1  # inches: the greatest side of a panel
WIDE = 0.95  # inches: a panel of this size has room for words beside its numbers
SETS = ((True, "kept"), (False, "dropped"))


def _density(axis: Axes, tokens: pd.DataFrame, name: str, norm: LogNorm, wide: bool) -> AxesImage | None:
    """Draw one panel; None without tokens. Its text is where no token can be, as beta is at least pi squared."""
    axis.plot([0, 1], [0, 1], color="#555555", linewidth=0.6, linestyle=":")
    axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    if tokens.empty:
        text, image = f"none {name}", None
    else:
        pi, beta = np.exp(tokens["logprob"].to_numpy()), np.exp(-tokens["h2"].to_numpy())
        count, _, _ = np.histogram2d(pi, beta, bins=BINS, range=[[0, 1], [0, 1]])
        share, distance = np.ma.masked_equal(count.T / len(tokens), 0), np.abs(pi - beta).mean()
        words = ("n = ", "|π − β| ") if wide else ("", "")
        text = f"{words[0]}{len(tokens):,}\n{words[1]}{distance:.3f}"
        image = axis.imshow(
            share, norm=norm, cmap="viridis_r", origin="lower", extent=(0, 1, 0, 1), interpolation="nearest"
        )
    axis.text(0.97, 0.04, text, transform=axis.transAxes, ha="right", va="bottom", size=5.5, linespacing=1.05)
    return image


@rc_context({"axes.grid": False})
def draw(tokens: pd.DataFrame, variants: Sequence[str]) -> Figure:
    present(tokens, variants)
    selecting = tokens[tokens["selecting"] & tokens["variant"].isin(list(variants))]
    if selecting.empty:
        return sentence("No tokens were sampled at a step at which a rule selects.")
    arms, models = present(selecting, variants), list(selecting["model"].unique())
    columns = [(model, kept, name) for model in models for kept, name in SETS]
    width = figure_width(len(models))
    side = min(LARGEST, (width - 1.35) / len(columns))
    norm, image = LogNorm(LEAST, 1.0, clip=True), None
    figure = Figure(figsize=(width, len(arms) * (side + 0.08) + 0.75), layout="constrained")
    axes = figure.subplots(len(arms), len(columns), squeeze=False, sharex=True, sharey=True)
    for row, variant in zip(axes, arms, strict=True):
        for axis, (model, kept, name) in zip(row, columns, strict=True):
            cell = (selecting["model"] == model) & (selecting["variant"] == variant) & (selecting["kept"] == kept)
            image = _density(axis, selecting[cell], name, norm, side > WIDE) or image
        row[0].set_ylabel(f"{label(variant)}\n$\\beta$")
    for axis, (model, _, name) in zip(axes[0], columns, strict=True):
        axis.set_title(f"{model}\n{name}", size=7)
    axes[0, 0].set_xticks([0, 0.5, 1], ["0", "½", "1"])
    axes[0, 0].set_yticks([0, 0.5, 1], ["0", "½", "1"])
    for axis in axes[-1]:
        axis.set_xlabel(r"$\pi$")
    if image is not None:
        bar = figure.colorbar(image, ax=axes, shrink=min(1.0, 3.0 / (len(arms) * side)), aspect=25, pad=0.02)
        bar.set_label("Share of the panel's tokens")
    return figure
