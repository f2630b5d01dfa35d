"""The uniqueness score u of a sequence's tokens, sorted from high to low, with the curve's elbow."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ict_core.evidence.measures import sorted_curve
from ict_core.figures.panels import draw_band, grid, present, sentence, titles
from ict_core.figures.style import RC, style
from ict_core.statistics.elbow import POINTS, elbow

PAPER = 10.0  # percent of the tokens: where the paper sees the elbow and puts its threshold


def _draw_model(axis: Axes, tokens: pd.DataFrame, variants: Sequence[str]) -> None:
    share = 100 * np.arange(1, POINTS + 1) / POINTS
    for variant in variants:
        of_variant = tokens[tokens["variant"] == variant]
        curves = [sorted_curve(run) for _, run in of_variant.groupby("seed", sort=True)]
        if not curves:
            continue
        look = style(variant)
        draw_band(axis, share, np.stack(curves), variant)
        at = [(100 * where, curve[round(where * POINTS) - 1]) for curve in curves if (where := elbow(curve)) > 0]
        if at:
            x, y = zip(*at, strict=True)
            open_marker: dict[str, Any] = {"color": look.colour, "mfc": "none", "markersize": 4.5, "mew": 0.9}
            axis.plot(x, y, look.marker, zorder=4, clip_on=False, **open_marker)


def draw(tokens: pd.DataFrame, variants: Sequence[str]) -> Figure:
    """Draw the mean sorted curve of u over the share of a sequence's tokens, with a band over seeds and their elbows.

    Args:
        tokens: a frame of `records.STUDY_TOKENS`; the steps of the warm-up are left out.
        variants: the variants to show, in the legend's order; those without rows (base) are left out.

    Raises:
        UserError: none of the variants has rows.
    """
    present(tokens, variants)
    selecting = tokens[tokens["selecting"]]
    if not selecting["variant"].isin(list(variants)).any():
        return sentence("No tokens were sampled at a step at which a rule selects.")
    shown = present(selecting, variants)
    models = titles(selecting, shown)
    with rc_context(RC):
        figure, axes = grid(1, list(models.values()), shown, marks="open", height=2.3)
        for axis, model in zip(axes[0], models, strict=True):
            axis.axvline(PAPER, color="#555555", linestyle=":", linewidth=0.9)
            axis.text(PAPER + 1.5, 0.985, "paper: 10 %", transform=axis.get_xaxis_transform(), va="top", size=6)
            _draw_model(axis, selecting[selecting["model"] == model], shown)
            axis.set_xlim(0, 100)
            axis.set_xlabel("Tokens, from high to low $u$ (%)")
        axes[0, 0].set_ylim(0, axes[0, 0].get_ylim()[1])
        axes[0, 0].set_ylabel("Score $u$ (nats)")
    return figure
