"""The uniqueness score u of a sequence's tokens, sorted from high to low, with the curve's elbow."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ict_core.figures.panels import GUIDE, Style, draw_band, grid, present, sentence, titles

PAPER = 10.0  # percent of the tokens: where the paper sees the elbow and puts its threshold


def _draw_model(axis: Axes, curves: pd.DataFrame, elbows: pd.DataFrame, looks: Mapping[str, Style]) -> None:
    for variant, look in looks.items():
        by_seed = curves[curves["variant"] == variant].pivot(index="seed", columns="share", values="score")
        if by_seed.empty:
            continue
        shares, scores = by_seed.columns.to_numpy(np.float64), by_seed.to_numpy(np.float64)
        draw_band(axis, 100 * shares, scores, look)
        elbow = elbows[elbows["variant"] == variant].set_index("seed")["value"].reindex(by_seed.index).to_numpy()
        runs = np.flatnonzero(np.isfinite(elbow))
        if runs.size:
            points = [np.abs(shares - elbow[run]).argmin() for run in runs]
            open_marker: dict[str, Any] = {"color": look.colour, "mfc": "none", "markersize": 4.5, "mew": 0.9}
            axis.plot(100 * elbow[runs], scores[runs, points], look.marker, zorder=4, clip_on=False, **open_marker)


def draw(quantities: pd.DataFrame, curves: pd.DataFrame, variants: Sequence[str]) -> Figure:
    present(quantities, variants)
    if not curves["variant"].isin(list(variants)).any():
        return sentence("No tokens were sampled at a step at which a rule selects.")
    arms = present(curves, variants)
    models = titles(curves, arms)
    elbows = quantities[quantities["quantity"] == "elbow"]
    figure, axes = grid(1, list(models.values()), arms, marks="open", height=2.3)
    for axis, model in zip(axes[0], models, strict=True):
        axis.axvline(PAPER, **GUIDE)
        axis.text(PAPER + 1.5, 0.985, "paper: 10 %", transform=axis.get_xaxis_transform(), va="top", size=6)
        _draw_model(axis, curves[curves["model"] == model], elbows[elbows["model"] == model], arms)
        axis.set_xlim(0, 100)
        axis.set_xlabel("Tokens, from high to low $u$ (%)")
    axes[0, 0].set_ylim(0, axes[0, 0].get_ylim()[1])
    axes[0, 0].set_ylabel("Score $u$ (nats)")
    return figure
