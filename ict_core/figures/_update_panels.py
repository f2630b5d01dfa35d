"""Panels of what updates did to the same states: a row a variant, its kept tokens above its dropped ones."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ict_core.figures._panels import GUIDE, draw_seeds, present, sentence, variant_panels
from ict_core.statistics import limits_by
from ict_core.theory import LESS_CHANCE

LINE = 0.2  # inches a variant
SIDE = 0.2  # of a line: kept tokens stand above its middle, dropped ones below


class Panel(NamedTuple):
    """A title, and the measure of `theory.agreement` and the regime that it shows, in percent."""

    title: str
    measure: str
    regime: str


def draw_panels(
    of: Sequence[Panel],
    quantities: pd.DataFrame,
    agreement: pd.DataFrame,
    agreement_means: pd.DataFrame,
    variants: Sequence[str],
) -> Figure:
    """Draw each run's agreement with the theory, of kept and of dropped tokens, with t intervals over the seeds."""
    shown, models = present(quantities, variants), [str(model) for model in quantities["model"].unique()]
    values = agreement[agreement["variant"].isin(shown)]
    if values.empty:
        return sentence("No token was sampled before and after an update at which a rule selects.")
    arm = ["model", "variant", "set", "regime"]
    limits = limits_by(agreement_means, [*arm, "measure"])
    figure, panels = variant_panels(models, shown, [panel.title for panel in of], LINE)
    for model, axes in panels.items():
        for axis, (_, measure, regime) in zip(axes, of, strict=True):
            rows = values[values["measure"] == measure].sort_values("seed")
            runs = {key: group["value"] for key, group in rows.groupby(arm)}
            for height, variant in enumerate(shown):
                for name, side in (("kept", -SIDE), ("dropped", SIDE)):
                    key = (model, variant, name, regime)
                    if key in runs:
                        level, filled = limits[*key, measure], name == "kept"
                        draw_seeds(axis, height + side, runs[key], level, variant, room=0.4, filled=filled)
            if measure.endswith(LESS_CHANCE):
                axis.set_xlabel("less chance (points)")
                axis.axvline(0, **GUIDE)
            else:
                axis.set_xlabel("%")
                axis.set_xlim(min(0, 100 * rows["value"].min()), 100)
    entries = [
        Line2D([], [], color="#333333", marker="o", linestyle="None", markersize=3.5, mfc=face, label=name)
        for name, face in (("kept tokens", "#333333"), ("dropped tokens", "none"))
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=2)
    return figure
