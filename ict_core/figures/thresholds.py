"""The ablation of the share of tokens kept: pass@1 above, pass@4 below, one column per model."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ict_core.figures.panels import Style, average_rows, grid, sentence, side_by_side, style, styles, titles
from ict_core.statistics.pairing import shares_kept
from ict_core.statistics.schemas import AVERAGE, BASE, PASS_METRICS

APART = 0.25  # on the log axis (base e): between rules placed off the axis
SHIFT = 0.12  # on the log axis (base e): between rules that keep the same share
SPREAD = 0.03  # on the log axis (base e): between two runs
Kept = dict[str, tuple[str, float]]  # by variant: its selector, and the percent that it keeps


def _several(shares: Kept) -> dict[str, float]:
    """The percent of each variant whose selector has several of them."""
    selectors = [selector for selector, _ in shares.values()]
    return {variant: percent for variant, (selector, percent) in shares.items() if selectors.count(selector) > 1}


def _places(kept: Kept) -> dict[str, float]:
    """The x of each variant: its share, a place beside a selector with more shares, or one off the axis."""
    shares, sizes = _several(kept), [selector for selector, _ in kept.values()]
    places: dict[str, float] = {}
    for percent in set(shares.values()):
        neighbours = sorted((v for v in shares if shares[v] == percent), key=lambda v: -sizes.count(kept[v][0]))
        places |= {variant: percent * float(np.exp(SHIFT * number)) for number, variant in enumerate(neighbours)}
    off_axis = [variant for variant in kept if variant not in shares]
    end = max(places.values())
    return places | {variant: end * float(np.exp(APART * (number + 2))) for number, variant in enumerate(off_axis)}


def _draw_panel(axis: Axes, levels: pd.DataFrame, runs: pd.DataFrame, kept: Kept, looks: dict[str, Style]) -> None:
    """Draw one model and metric; both frames have its rows of the average, `levels` one per variant."""
    places = _places(kept)
    means, lows, highs = (dict(zip(levels["variant"], 100 * levels[c], strict=True)) for c in ("mean", "low", "high"))
    if len(places) > len(_several(kept)):
        axis.axvline(max(places[v] for v in _several(kept)) * np.exp(APART), color="#B0B0B0", linewidth=0.7)
    if BASE in means:
        axis.axhline(means[BASE], color=style(BASE).colour, linestyle=style(BASE).line, linewidth=0.9)
    for selector in dict.fromkeys(selector for selector, _ in kept.values()):
        members = [v for v, (s, _) in kept.items() if s == selector and v in means]
        axis.plot([places[v] for v in members], [means[v] for v in members], color="#9A9A9A", linewidth=0.8, zorder=1)
        for variant in members:
            look, x = looks[variant], places[variant]
            if np.isfinite(lows[variant]) and np.isfinite(highs[variant]):
                axis.plot([x, x], [lows[variant], highs[variant]], color=look.colour, linewidth=2.2, alpha=0.45)
            values = 100 * runs.loc[runs["variant"] == variant, "value"].to_numpy()
            shifted = x * np.exp(side_by_side(len(values), SPREAD))
            axis.plot(shifted, values, look.marker, color=look.colour, markersize=3.2, mfc="none", mew=0.8)
            axis.plot(x, means[variant], "_", color=look.colour, markersize=8, mew=1.6)


def draw(
    levels: pd.DataFrame,
    runs: pd.DataFrame,
    variants: Sequence[str],
    kept: Mapping[str, float],
    baselines: Sequence[str],
) -> Figure:
    """Draw the average's level in percent over the share kept, with two-way intervals and every run.

    The ablation's variants are found in `levels`, as not every model may run them. Those not in `variants` are shown
    only if their selector ran with several shares. In the legend selectors with more shares come first.
    """
    levels = average_rows(levels)
    by_model = levels.groupby("model", sort=False)["variant"]
    models = [str(model) for model, arms in by_model if _several(shares_kept(list(arms.unique()), kept))]
    if not models:
        return sentence("No model of this study ran two shares of one selection rule: there is no ablation to show.")
    levels = levels[levels["model"].isin(models)]
    runs = runs[(runs["benchmark"] == AVERAGE) & runs["model"].isin(models)]
    run_arms, baseline = list(levels["variant"].unique()), baselines[0]
    shares = shares_kept([*(v for v in variants if v in run_arms), *(v for v in run_arms if v not in variants)], kept)
    selectors = [selector for selector, _ in shares.values()]
    drawn = {v: share for v, share in shares.items() if v in variants or selectors.count(share[0]) > 1}
    drawn = dict(sorted(drawn.items(), key=lambda item: -selectors.count(item[1][0])))  # with more shares first
    if baseline in run_arms and baseline in variants:
        drawn.setdefault(baseline, (baseline, 100))
    all_looks = styles([*variants, *drawn])
    looks = {variant: all_looks[variant] for variant in drawn}
    names, percents = titles(runs, list(drawn)), sorted(set(_several(drawn).values()))
    figure, axes = grid(len(PASS_METRICS), [names[m] for m in models], looks, marks="markers", height=1.9)
    for row, metric in zip(axes, PASS_METRICS, strict=True):
        for axis, model in zip(row, models, strict=True):
            panel = [f[(f["model"] == model) & (f["metric"] == metric)] for f in (levels, runs)]
            _draw_panel(axis, panel[0], panel[1], drawn, looks)
            axis.set_xscale("log")
            axis.set_xticks(percents, [f"{p:g}" for p in percents])
            axis.minorticks_off()
        row[0].set_ylabel(f"{metric} (%), average")
    for axis in axes[-1]:
        axis.set_xlabel("Tokens kept (%) | one share, or all")
    figure.align_ylabels(list(axes[:, 0]))
    return figure
