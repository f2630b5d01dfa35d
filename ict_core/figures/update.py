"""An update's measured change of H2 beside the paper's statement and the single-logit prediction: a row a variant."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ict_core.figures.panels import draw_seeds, present, sentence, variant_panels
from ict_core.figures.style import RC
from ict_core.statistics.names import CELL
from ict_core.theory.update import agreement

LINE = 0.2  # inches a variant
SIDE = 0.2  # of a line: kept tokens stand above its middle, dropped ones below


class Panel(NamedTuple):
    """What a panel shows: a measure of `theory.update` in a regime, in percent, less what chance gives or as it is."""

    title: str
    measure: str
    regime: str
    less_chance: bool = False


PANELS = (
    Panel("As stated, π > β", "statement", "p > beta", True),
    Panel("As stated, π < β", "statement", "p < beta", True),
    Panel("Log-odds follow A", "follows_advantage", "all", True),
    Panel("As predicted, π > β", "h2_sign", "p > beta"),
    Panel("As predicted, π < β", "h2_sign", "p < beta"),
    Panel("Rank correlation", "h2_exact_rank", "all"),
)


def draw(tokens: pd.DataFrame, variants: Sequence[str]) -> Figure:
    """Draw each run's agreement with the theory, of kept and of dropped tokens, with t intervals over the seeds.

    Args:
        tokens: a frame of `records.STUDY_TOKENS`.
        variants: the variants to show, from top to bottom; those without rows (base) are left out.

    Raises:
        UserError: none of the variants has rows.
    """
    shown, models = present(tokens, variants), [str(model) for model in tokens["model"].unique()]
    values = agreement(tokens[tokens["variant"].isin(shown)])
    if values.empty:
        return sentence("No token was sampled before and after an update at which a rule selects.")
    wide = values.pivot(index=[*CELL, "set", "regime"], columns="measure", values="value")
    with rc_context(RC):
        figure, panels = variant_panels(models, shown, [panel.title for panel in PANELS], LINE)
        for model, axes in panels.items():
            for axis, panel in zip(axes, PANELS, strict=True):
                found = wide[panel.measure] - (wide[f"{panel.measure}_chance"] if panel.less_chance else 0)
                runs = dict(iter((100 * found).groupby(["model", "variant", "set", "regime"])))
                for row, variant in enumerate(shown):
                    for name, side in (("kept", -SIDE), ("dropped", SIDE)):
                        of_arm = runs.get((model, variant, name, panel.regime), [])
                        draw_seeds(axis, row + side, of_arm, variant, spread=0.08, filled=name == "kept")
                axis.set_xlabel("less chance (points)" if panel.less_chance else "%")
                if panel.less_chance:
                    axis.axvline(0, color="#555555", linestyle=":", linewidth=0.9)
                else:
                    axis.set_xlim(min(0, 100 * found.min()), 100)
        entries = [
            Line2D([], [], color="#333333", marker="o", linestyle="None", markersize=3.5, mfc=face, label=name)
            for name, face in (("kept tokens", "#333333"), ("dropped tokens", "none"))
        ]
        figure.legend(handles=entries, loc="outside lower center", ncols=2)
    return figure
