"""An update's measured change of H2 beside the paper's statement: a row a variant, kept tokens above dropped ones."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ict_core.figures._panels import GUIDE, draw_seeds, present, sentence, variant_panels
from ict_core.figures._registry import FigureDeclaration
from ict_core.statistics import limits_by
from ict_core.theory import LESS_CHANCE

FIGURE = FigureDeclaration(
    place=13,
    title="An update's change of the entropies",
    caption=(
        "The same states before and after an optimiser step, at the steps at which the rule selects; tokens whose H2 "
        "moved by less than 1e-6 nats are left out. As stated: share whose H2 moved with the sign of A (β - π), A the "
        "advantage. Log-odds follow A: share whose sampled token's log-odds moved in the direction of A. Less chance: "
        "less what the same frequencies of either sign would give if they were independent. Every marker is one run, "
        "the bar a 95 % t interval over the training seeds around their mean. A run with fewer than 10 such tokens has "
        "no marker."
    ),
    inputs=("quantities", "agreement", "agreement_means"),
)

LINE = 0.2  # inches a variant
SIDE = 0.2  # of a line: kept tokens stand above its middle, dropped ones below


class Panel(NamedTuple):
    title: str
    measure: str
    regime: str


PANELS = (
    Panel("As stated, π > β", f"statement{LESS_CHANCE}", "p > beta"),
    Panel("As stated, π < β", f"statement{LESS_CHANCE}", "p < beta"),
    Panel("Log-odds follow A", f"follows_advantage{LESS_CHANCE}", "all"),
)


def draw(
    quantities: pd.DataFrame,
    agreement: pd.DataFrame,
    agreement_means: pd.DataFrame,
    variants: Sequence[str],
) -> Figure:
    arms, models = present(quantities, variants), [str(model) for model in quantities["model"].unique()]
    values = agreement[agreement["variant"].isin(arms)]
    if values.empty:
        return sentence("No token was sampled before and after an update at which a rule selects.")
    arm = ["model", "variant", "set", "regime"]
    limits = limits_by(agreement_means, [*arm, "measure"])
    figure, panels = variant_panels(models, arms, [panel.title for panel in PANELS], LINE)
    for model, axes in panels.items():
        for axis, (_, measure, regime) in zip(axes, PANELS, strict=True):
            rows = values[values["measure"] == measure].sort_values("seed")
            runs = {key: group["value"] for key, group in rows.groupby(arm)}
            for height, variant in enumerate(arms):
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
