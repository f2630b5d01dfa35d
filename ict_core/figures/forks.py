"""Recall and precision of the known forks over training: a pair of panels per rule."""

import itertools
import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType

from ict_core.evidence.measures import kept_weight
from ict_core.figures.panels import COLUMN_WIDTH, LEGEND_LINE, TEXT_WIDTH, label, present, sentence, style, titles

ACROSS = 6  # rules in one row of the figure
PANEL_HEIGHT = 0.85  # inches
CHANCE = "#8C8C8C"
# of the upper and the lower panel: the quantity, and its value by chance
QUANTITIES = {"fork_recall": "kept_weight_share", "fork_precision": "forks_share"}
MODEL_LINES: tuple[LineStyleType, ...] = ("-", (0.0, (4.0, 1.5)), (0.0, (1.2, 1.2)), (0.0, (5.0, 1.5, 1.2, 1.5)))


def _draw_line(axis: Axes, runs: pd.DataFrame, column: str, chance: str, colour: str, line: LineStyleType) -> None:
    """Draw one model's line in its band, and a grey line for what chance gives; shares are drawn in percent."""
    by_seed = 100 * runs.pivot(index="step", columns="seed", values=column)
    steps, expected = by_seed.index.to_numpy(), 100 * runs.groupby("step")[chance].mean()
    axis.plot(steps, expected.to_numpy(), color=CHANCE, linestyle=line, linewidth=0.8)
    axis.fill_between(steps, by_seed.min(axis=1), by_seed.max(axis=1), color=colour, alpha=0.18, linewidth=0)
    axis.plot(steps, by_seed.mean(axis=1), color=colour, linestyle=line, linewidth=1.2, marker=".", markersize=3)


def draw(shadow: pd.DataFrame, variants: Sequence[str], baselines: Sequence[str]) -> Figure:
    rows = shadow[shadow["variant"] == baselines[0]]
    rules = present(rows.assign(variant=rows["rule"]), variants)
    steps = rows[rows["rule"].isin(rules) & rows["forks"].notna()]
    if steps.empty:
        return sentence("No decision points are known in these problems.")
    if not steps["forks"].any():  # such as from a model that writes nothing like the mini world's solutions
        return sentence("These responses have none of the known decision points.")
    steps = steps.assign(
        forks_share=steps["forks"] / steps["tokens"], kept_weight_share=kept_weight(steps) / steps["tokens"]
    )
    models = titles(steps, [baselines[0]])
    across = min(ACROSS, len(rules))
    lines = math.ceil(len(rules) / across)
    size = (max(COLUMN_WIDTH, TEXT_WIDTH * across / ACROSS), lines * (2 * PANEL_HEIGHT + 0.3) + LEGEND_LINE + 0.35)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(2 * lines, across, squeeze=False, sharex=True)
    for quantity, (column, chance) in enumerate(QUANTITIES.items()):
        highest = max(steps[column].max(), steps[chance].max())
        for rule, axis in itertools.zip_longest(rules, axes[quantity::2].flat):
            if rule is None:
                axis.set_axis_off()
                continue
            axis.set_ylim(-4 * highest, 104 * highest)
            axis.tick_params(labelbottom=bool(quantity), labelleft=axis in axes[:, 0])
            for model, line in zip(models, itertools.cycle(MODEL_LINES), strict=False):
                runs = steps[(steps["rule"] == rule) & (steps["model"] == model)]
                _draw_line(axis, runs, column, chance, style(rule).colour, line)
    for rule, axis in zip(rules, axes[::2].flat, strict=False):
        axis.set_title(label(rule), size=7)
    for axis, name in zip(axes[:, 0], itertools.cycle(("Recall", "Precision")), strict=False):
        axis.set_ylabel(name)
    for axis in axes[-1]:
        axis.set_xlabel("Step")
    figure.align_ylabels()
    entries = [
        Line2D([], [], color="#222222", linestyle=line, linewidth=1.2, marker=".", markersize=3, label=model)
        for model, line in zip(models.values(), itertools.cycle(MODEL_LINES), strict=False)
    ]
    entries.append(Line2D([], [], color=CHANCE, linewidth=0.8, label="as many tokens at random"))
    figure.legend(handles=entries, loc="outside lower center", ncols=len(entries))
    return figure
