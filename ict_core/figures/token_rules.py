"""Every rule on an untrained model's tokens: what it keeps, with intervals over prompts; for a token study's page."""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ict_core.figures.panels import GUIDE, draw_interval, present, style, variant_panels

CAPTION = (
    "Means over prompts with 95 % t-intervals, a row a rule. The dotted line is the value of all tokens together, or "
    "of chance. Gradient of the weights: the norm of GRPO's gradient from the kept tokens alone over that from all. "
    "Both gradients are of the prompts with right and wrong answers, which may be few."
)
PANELS = {
    "probability": "Probability of kept (%)",
    "high_h1_share": "Kept above the median H1 (%)",
    "gradient_share": "Gradient of the logits (%)",
    "norm_share": "Gradient of the weights (%)",
    "position": "Place in the response (%)",
    "surprise_share": "Share of the mass 1 − p (%)",
}
CHANCE = {"high_h1_share": 50.0}
ALL = ("probability", "position")  # quantities whose value for all tokens comes from the rule that keeps all
LINE = 0.17  # inches per rule


def _draw(axis: Axes, means: pd.DataFrame, rules: Collection[str], chance: float | None) -> None:
    rows = 100 * means.set_index("variant")[["mean", "low", "high"]]
    for height, rule in enumerate(rules):
        if rule in rows.index:
            mean, low, high = (float(value) for value in rows.loc[rule].to_numpy(np.float64))
            draw_interval(axis, height, low, high, style(rule).colour, 1.6, alpha=0.6)
            axis.plot(mean, height, "o", color=style(rule).colour, markersize=3, clip_on=False)
    if chance is not None and np.isfinite(chance):
        axis.axvline(chance, **GUIDE)


def draw(quantity_means: pd.DataFrame, rules: Sequence[str]) -> Figure:
    present_rules = present(quantity_means, rules)
    models = list(quantity_means["model"].unique())
    figure, panels = variant_panels(models, present_rules, list(PANELS.values()), LINE)
    for model, axes in panels.items():
        model_means = quantity_means[quantity_means["model"] == model]
        shares = model_means[model_means["quantity"] == "kept_share"].set_index("variant")["mean"]
        for axis, quantity in zip(axes, PANELS, strict=True):
            means = model_means[model_means["quantity"] == quantity]
            chance = CHANCE.get(quantity)
            if quantity in ALL and (all_means := means[means["variant"].map(shares) == 1]["mean"]).size:
                chance = 100 * float(all_means.iloc[0])
            if means["mean"].notna().any():
                _draw(axis, means, present_rules, chance)
            else:
                axis.text(0.5, 0.5, "no prompt has right\nand wrong answers", transform=axis.transAxes, ha="center")
                axis.set_xticks([])
    return figure
