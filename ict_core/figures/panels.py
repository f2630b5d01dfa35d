"""The layout that the figures share: a grid of panels, one column a model, and a legend below the data."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ict_core.errors import UserError
from ict_core.figures.style import COLUMN_WIDTH, TEXT_WIDTH, handles, label, style

PANEL_HEIGHT = 2.1  # inches
LEGEND_LINE = 0.17  # inches, high
LEGEND_ENTRY = 1.1  # inches, wide


def grid(rows: int, models: Sequence[str], variants: Sequence[str], markers: bool = False) -> tuple[Figure, NDArray]:
    """An empty figure of rows x models panels with the models as titles and a legend of the variants below.

    Returns:
        The figure and its axes, shape (rows, models).
    """
    width = COLUMN_WIDTH if len(models) == 1 else max(TEXT_WIDTH, 2.2 * len(models))
    lines = math.ceil(len(variants) / (width // LEGEND_ENTRY))
    columns = math.ceil(len(variants) / lines)
    by_line = [v for column in range(columns) for v in variants[column::columns]]  # the legend fills columns first
    figure = Figure(figsize=(width, rows * PANEL_HEIGHT + lines * LEGEND_LINE + 0.1), layout="constrained")
    axes = figure.subplots(rows, len(models), squeeze=False, sharex="col", sharey="row")
    for axis, model in zip(axes[0], models, strict=True):
        axis.set_title(model)
    figure.legend(
        handles(by_line, markers),
        [label(v) for v in by_line],
        loc="outside lower center",
        ncols=columns,
        handlelength=2.4,
        columnspacing=1.2,
    )
    return figure, axes


def present(frame: pd.DataFrame, variants: Sequence[str]) -> list[str]:
    """The wanted variants that the frame has, in the wanted order.

    Raises:
        UserError: it has none of them.
    """
    found = [v for v in variants if (frame["variant"] == v).any()]
    if not found:
        raise UserError(f"nothing to draw: none of the variants {list(variants)} has rows")
    return found


def draw_runs(axis: Axes, log: pd.DataFrame, column: str, variants: Sequence[str], window: int) -> None:
    """One model's training curves: each variant's mean over seeds, in a band from its lowest to its highest seed.

    Curves are centred moving means over `window` steps (shorter at the ends). A step at which a seed has no value is a
    gap, because a mean over the other seeds would jump.

    Args:
        log: the model's rows of a frame of `records.STUDY_LOG`.
        column: what to draw over `step`.
        window: optimiser steps in the moving mean; 1 for none.
    """
    for variant in variants:
        raw = log[log["variant"] == variant].pivot(index="step", columns="seed", values=column)
        smooth = raw.rolling(window, center=True, min_periods=1).mean().where(raw.notna())
        if smooth.empty:
            continue
        look, steps = style(variant), smooth.index.to_numpy()
        mean = smooth.mean(axis=1, skipna=False)
        axis.fill_between(
            steps,
            smooth.min(axis=1).where(mean.notna()).to_numpy(np.float64),
            smooth.max(axis=1).where(mean.notna()).to_numpy(np.float64),
            color=look.colour,
            alpha=0.12,
            linewidth=0,
        )
        axis.plot(steps, mean.to_numpy(np.float64), color=look.colour, linestyle=look.line, linewidth=1.1)
