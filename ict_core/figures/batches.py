"""The batch size as a factor: the share of the baseline's gain that each rule keeps over the tokens of a step."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from ict_core.figures.panels import GUIDE, grid, sentence, styles
from ict_core.statistics.schemas import PASS_METRICS


def panels(batches: pd.DataFrame, prompts: int, steps: int) -> dict[str, pd.DataFrame]:
    """The rows with as many updates as the recipe of `prompts` x `steps`, and those with as many rollouts."""
    return {
        f"{steps} updates": batches[batches["steps"] == steps],
        f"{prompts * steps:,} prompts": batches[batches["prompts"] * batches["steps"] == prompts * steps],
    }


def draw(batches: pd.DataFrame, variants: Sequence[str]) -> Figure:
    rules = [rule for rule in batches["rule"].unique() if not (batches["reference"] == rule).any()]
    if not rules:
        return sentence("This study varies no batch that its first baseline has too.")
    columns: dict[str, pd.DataFrame] = {}
    recipe = batches[batches["variant"] == batches["rule"]].iloc[0]  # the baseline at least, with every model
    batches = batches[batches["rule"].isin(rules)]
    for model in batches["model"].unique():
        rows = batches[batches["model"] == model]
        found = panels(rows, recipe["prompts"], recipe["steps"])
        columns |= {f"{model}, {title}": panel_rows for title, panel_rows in found.items()}
    figure, axes = grid(len(PASS_METRICS), list(columns), looks := styles(rules), marks="open")
    for row, metric in zip(axes, PASS_METRICS, strict=True):
        for axis, rows in zip(row, columns.values(), strict=True):
            axis.axhline(1, **GUIDE)
            for rule, look in looks.items():
                arm = rows[(rows["rule"] == rule) & (rows["metric"] == metric)].sort_values("tokens")
                bars = arm[np.isfinite(arm["kept_low"]) & np.isfinite(arm["kept_high"])]
                axis.plot(arm["tokens"], arm["kept"], look.marker, color=look.colour, ls=look.line, markersize=3.5)
                axis.vlines(bars["tokens"], bars["kept_low"], bars["kept_high"], look.colour, lw=0.9, alpha=0.6)
            axis.set_xscale("log")
            axis.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
            axis.xaxis.set_major_formatter("{x:,.0f}")
            axis.xaxis.set_minor_formatter("")
        row[0].set_ylabel(f"part of the gain kept, {metric}")
    for axis in axes[-1]:
        axis.set_xlabel("tokens trained in a step")
    figure.align_ylabels(list(axes[:, 0]))
    return figure
