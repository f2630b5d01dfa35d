"""A bench of rules at a glance: each rule's gain over the first baseline, over its controls, and its rank."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ict_core.config.study_file import Validity
from ict_core.evidence.bench import BENCH_METRIC, MEAN_ONE, SAME_SIGN, controls_of, rule_arms
from ict_core.evidence.stored import ArmVariation
from ict_core.figures.panels import draw_interval, label, row_panels, sentence
from ict_core.statistics.deciding import BETTER, WORSE
from ict_core.statistics.pairing import both_ways, span

COLOURS = {BETTER: "#0072B2", WORSE: "#C1272D"}
GREY = "#777777"
LINE = 0.15  # inches: the height of a rule's line
APART = 0.4  # of a line's height: the distance between a rule's controls


def _dot(axis: Axes, height: float, row: pd.Series) -> None:
    colour = COLOURS.get(str(row["verdict"]), GREY)
    draw_interval(axis, height, 100 * row["low"], 100 * row["high"], colour, 1.4, alpha=0.6)
    face = "white" if row["control"] == MEAN_ONE else colour
    marker = "s" if row["control"].endswith(SAME_SIGN) else "o"
    axis.plot(100 * row["difference"], height, marker, color=colour, mfc=face, markersize=3.2, mew=0.9)


def _draw_model(axes: Sequence[Axes], pairs: pd.DataFrame, ranks: pd.DataFrame, order: Sequence[str]) -> None:
    """Draw one model's row of axes; `pairs` is indexed by rule and has the column `control`, `ranks` by variant."""
    for height, rule in enumerate(order):
        rows = pairs.loc[[rule]] if rule in pairs.index else pairs.iloc[:0]
        for _, row in rows[rows["control"] == ""].iterrows():
            _dot(axes[0], height, row)
        controls = rows[rows["control"] != ""].sort_values("control", ascending=False)  # random first
        for n, (_, row) in enumerate(controls.iterrows()):
            _dot(axes[1], height + APART * (n - (len(controls) - 1) / 2), row)
        if rule in ranks.index:
            numbers = ranks.loc[rule, ["rank", "low", "high"]].to_numpy(np.float64)
            rank, low, high = map(float, numbers)
            draw_interval(axes[2], height, low, high, GREY, 3.0, alpha=0.5)
            axes[2].plot(rank, height, "o", color="#222222", markersize=2.6)


def _legend(figure: Figure, margin: float, same_sign: bool) -> None:
    looks: dict[str, Any] = {"marker": "o", "linestyle": "None", "markersize": 3.6}
    entries = [
        *(Line2D([], [], color=colour, label=verdict, **looks) for verdict, colour in COLOURS.items()),
        Line2D([], [], color=GREY, label="equivalent or undecided", **looks),
        Line2D([], [], color=GREY, mfc="white", label="from its weights, mean one", **looks),
        *([Line2D([], [], color=GREY, label="from random, same sign of A", **looks | {"marker": "s"})] * same_sign),
        Patch(color="#EDEDED", label=f"within ±{100 * margin:g} points"),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=3 if same_sign else 5, columnspacing=1.4)


def draw(
    contrasts: pd.DataFrame,
    ranks: pd.DataFrame,
    variants: Sequence[str],
    *,
    arms: Mapping[str, ArmVariation],
    baselines: Sequence[str],
    margin: float,
    validity: Validity | None = None,
) -> Figure:
    controls, baseline = controls_of(rule_arms(arms, validity)), baselines[0]
    if not controls:
        return sentence("This study runs no rule beside its control: it is no bench.")
    rows = both_ways(contrasts)
    rows = rows[rows["metric"] == BENCH_METRIC]
    ranks = ranks[ranks["metric"] == BENCH_METRIC]
    models = list(ranks["model"].unique())
    if not models:
        return sentence("The rules of this study share no seed: none of them has a rank.")
    by_rank = ranks.assign(place=ranks["model"].map(models.index)).sort_values(["place", "rank"], kind="stable")
    order = [str(variant) for variant in by_rank["variant"].unique()]
    ranked = ranks.groupby("model").size()
    kinds = {(rule, baseline): "" for rule in order}
    kinds |= {(rule, control): str(arms[control].values()[1]) for control, rule in controls.items()}
    pairs = [*zip(rows["variant"], rows["baseline"], strict=True)]
    rows = rows[[pair in kinds for pair in pairs]].set_index("variant")
    rows = rows.assign(control=[kinds[pair] for pair in pairs if pair in kinds])
    titles = [f"Δ {label(baseline)} (points)", "Δ control (points)", f"Rank of {span(ranked)}"]
    figure, axes = row_panels(len(models), titles, [label(rule) for rule in order], LINE)
    for model, row in zip(models, axes, strict=True):
        for axis in row[:2]:
            axis.axvspan(-100 * margin, 100 * margin, color="#EDEDED", linewidth=0, zorder=0)
            axis.axvline(0, color="#444444", linewidth=0.7, zorder=1)
        _draw_model(row, rows[rows["model"] == model], ranks[ranks["model"] == model].set_index("variant"), order)
        row[2].set_xlim(0.5, ranked.max() + 0.5)
        row[0].set_ylabel(model)
    _legend(figure, margin, bool(rows["control"].str.endswith(SAME_SIGN).any()))
    return figure
