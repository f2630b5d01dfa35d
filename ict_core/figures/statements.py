"""The paper's statements about kept tokens and about entropy in training: a panel a statement, a row a variant."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from ict_core.evidence.measures import of_study
from ict_core.figures.panels import draw_seeds, present, variant_panels
from ict_core.figures.style import RC

LINE = 0.16  # inches a variant


class Statement(NamedTuple):
    """What a panel shows, in percent, what the paper says of it (a value, or a range), and whether it is a share."""

    title: str
    axis: str
    paper: tuple[float, ...]
    share: bool = False


STATEMENTS = {
    "distance_from_beta": Statement("Distance from beta", "|π − β|, kept less dropped (%)", (0.0,)),
    "high_entropy_share_of_kept": Statement("High entropy", "kept above the median $H_1$ (%)", (49.7, 50.7), True),
    "probability_of_kept": Statement("Probability", "mean π of kept (%)", (9.0, 27.0), True),
    "elbow": Statement("Elbow of sorted u", "tokens (%)", (10.0,), True),
    "h1_change": Statement("$H_1$ over training", "relative change (%)", (0.0,)),
    "h2_change": Statement("$H_2$ over training", "relative change (%)", (0.0,)),
}


def draw(log: pd.DataFrame, tokens: pd.DataFrame, variants: Sequence[str]) -> Figure:
    """Draw each run's value of every statement, with a t interval over the seeds.

    Args:
        log, tokens: frames of `records.STUDY_LOG` and `records.STUDY_TOKENS`.
        variants: the variants to show, from top to bottom; those without rows (base) are left out.

    Raises:
        UserError: none of the variants has rows.
    """
    shown, models = present(log, variants), [str(model) for model in log["model"].unique()]
    values = of_study(list(STATEMENTS), shown, log, tokens)
    with rc_context(RC):
        figure, panels = variant_panels(models, shown, [s.title for s in STATEMENTS.values()], LINE)
        for model, axes in panels.items():
            for axis, (quantity, statement) in zip(axes, STATEMENTS.items(), strict=True):
                of_panel = values[(values["model"] == model) & (values["quantity"] == quantity)]
                for row, variant in enumerate(shown):
                    draw_seeds(axis, row, 100 * of_panel.loc[of_panel["variant"] == variant, "value"], variant)
                if len(statement.paper) == 2:
                    axis.axvspan(*statement.paper, color="#DDDDDD", linewidth=0)
                else:
                    axis.axvline(*statement.paper, color="#555555", linestyle=":", linewidth=0.9)
                if statement.share:
                    axis.set_xlim(0, 100)
                axis.set_xlabel(statement.axis)
    return figure
