"""How many of the kept tokens have high entropy: one panel a model, one row a variant."""

from collections.abc import Sequence

import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ict_core.evidence.measures import high_entropy_share
from ict_core.figures.panels import draw_interval, present, row_panels, sentence, side_by_side, titles
from ict_core.figures.style import RC, label, style
from ict_core.statistics.intervals import t_interval

SPREAD = 0.15  # of a line: the distance between the markers of two runs


def shares(tokens: pd.DataFrame) -> pd.DataFrame:
    """The composition of each run's kept tokens.

    Args:
        tokens: rows of `records.STUDY_TOKENS` from steps at which the rule selects.

    Returns:
        A row a run that keeps any token: model, variant, seed, `share` of the kept tokens above the median (see
        `evidence.measures.high_entropy_share`), and `keeps_all`.
    """
    rows = [
        (*cell, high_entropy_share(run), bool(run["kept"].all()))
        for cell, run in tokens.groupby(["model", "variant", "seed"], sort=False)
        if run["kept"].any()
    ]
    return pd.DataFrame(rows, columns=["model", "variant", "seed", "share", "keeps_all"])


def _draw_row(axis: Axes, row: int, variant: str, runs: pd.DataFrame) -> None:
    values = 100 * runs["share"].to_numpy()
    level, look = t_interval(values), style(variant)
    draw_interval(axis, row, level.low, level.high, look.colour, 2.2, alpha=0.45)
    heights = row + side_by_side(len(values), SPREAD)
    axis.plot(values, heights, look.marker, color=look.colour, markersize=3.5, mfc="none", mew=0.8, clip_on=False)
    axis.plot(level.mean, row, "|", color=look.colour, markersize=9, mew=1.6, clip_on=False)


def draw(tokens: pd.DataFrame, variants: Sequence[str]) -> Figure:
    """Draw each run's share of kept tokens above the median entropy, in percent, with a t-interval over the seeds.

    Args:
        tokens: a frame of `records.STUDY_TOKENS`; the steps of the warm-up are left out.
        variants: the variants to show, from top to bottom; those without rows (base) are left out.

    Raises:
        UserError: none of the variants has rows.
    """
    present(tokens, variants)
    found = shares(tokens[tokens["selecting"] & tokens["variant"].isin(list(variants))])
    if found.empty:
        return sentence("No token was sampled that a rule had kept at a step at which it selects.")
    shown, models = present(found, variants), titles(found, variants)
    everything = found.groupby("variant")["keeps_all"].all()
    names = [label(v) + (" (keeps all)" if everything[v] else "") for v in shown]
    with rc_context(RC):
        figure, axes = row_panels(1, list(models.values()), [names], line=0.25)
        for axis, model in zip(axes[0], models, strict=True):
            axis.axvline(50, color="#555555", linestyle=":", linewidth=0.9)
            of_model = found[found["model"] == model]
            for row, variant in enumerate(shown):
                runs = of_model[of_model["variant"] == variant]
                if len(runs):
                    _draw_row(axis, row, variant, runs)
            axis.set_xlim(0, 100)
            axis.set_xlabel("Kept tokens above\nthe median $H_1$ (%)")
    return figure
