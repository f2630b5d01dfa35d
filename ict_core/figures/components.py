"""What the standard error of a method's level is made of: base models, seeds, problems, both together, samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ict_core.errors import UserError
from ict_core.figures._panels import average_rows, label, present, row_panels, sentence
from ict_core.figures._registry import FigureDeclaration
from ict_core.statistics import BASE, BASE_MODEL, PASS_METRICS, RERUN, SOURCES_OF_VARIANCE

FIGURE = FigureDeclaration(
    place=14,
    title="What the uncertainty of a level is made of",
    caption=(
        "A bar is the standard error of a method's average over the benchmarks for new runs on new problems, in "
        "percent points; it is divided in proportion to what each source contributes to the variance. More seeds "
        "shrink the part of the seeds, more problems that of the problems, both that of seeds × problems, more samples "
        "a problem the last. Base models have a part where several seeds begin with each; else the seeds' holds theirs."
    ),
    inputs=("components",),
)

# Tol's muted colours, from dark to light in the order of the bar: not those of the methods.
_SOURCES = (BASE_MODEL, *SOURCES_OF_VARIANCE)
COLOURS = dict(zip(_SOURCES, ("#882255", "#332288", "#AA4499", "#88CCEE", "#DDCC77"), strict=True))
NAMES = dict(zip(_SOURCES, ("base models", "training seeds", "problems", "seeds × problems", "samples"), strict=True))
_RERUN: dict[str, Any] = {"hatch": "////", "edgecolor": "white", "linewidth": 0}


def parts(contributions: pd.Series) -> pd.Series:
    """The parts of a bar in points by source: together the standard error, split like the variance; NaN, below 0: 0."""
    variance = contributions.fillna(0.0).clip(lower=0.0)
    total = float(variance.sum())
    return variance * (100 / np.sqrt(total)) if total > 0 else variance


def _draw_bar(axis: Axes, height: int, contributions: pd.Series) -> None:
    """One variant's bar, and hatched over the seeds' part what reruns of one seed make of it: all of it at most."""
    widths = parts(contributions.drop(RERUN, errors="ignore")).reindex(_SOURCES, fill_value=0.0)
    starts = widths.cumsum() - widths
    for source, colour in COLOURS.items():
        if widths[source] > 0:
            axis.barh(height, widths[source], left=starts[source], height=0.62, color=colour, linewidth=0)
    seed, again = (float(contributions.get(source, 0.0)) for source in ("seed", RERUN))
    if seed > 0 and again > 0:
        width = float(widths["seed"]) * min(1.0, again / seed)
        axis.barh(height, width, left=starts["seed"], height=0.62, facecolor="none", **_RERUN)


def draw(components: pd.DataFrame, variants: Sequence[str]) -> Figure:
    """Draw each level's standard error in points as a bar, divided like its variance; an unknown source is an error."""
    if components.empty:
        return sentence("Every arm of this study has one run: there is no spread between runs to divide.")
    rows = average_rows(components, "components")
    unknown = set(rows["source"]) - {*_SOURCES, RERUN}
    if unknown:
        raise UserError(f"components: unknown sources {sorted(unknown)}; allowed: {', '.join((*_SOURCES, RERUN))}")
    arms = present(rows, [BASE, *(v for v in variants if v != BASE)])
    models = [str(model) for model in rows["model"].unique()]
    figure, axes = row_panels(len(PASS_METRICS), models, [label(v) for v in arms], sharex="all")
    for row, metric in zip(axes, PASS_METRICS, strict=True):
        for axis, model in zip(row, models, strict=True):
            panel = rows[(rows["model"] == model) & (rows["metric"] == metric)]
            for height, variant in enumerate(arms):
                _draw_bar(axis, height, panel[panel["variant"] == variant].set_index("source")["contribution"])
        row[0].set_ylabel(metric)
    for axis in axes[-1]:
        axis.set_xlim(0, axis.get_xlim()[1])
        axis.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axis.set_xlabel("Standard error (points)")
    present_sources = set(rows["source"])
    entries = [Patch(color=COLOURS[s], label=NAMES[s]) for s in _SOURCES if s in present_sources or s != BASE_MODEL]
    if RERUN in present_sources:
        entries.append(Patch(facecolor=COLOURS["seed"], label="of these, the same seed again", **_RERUN))
    columns = 4 if len(models) > 1 else 2
    figure.legend(handles=entries, loc="outside lower center", ncols=columns, columnspacing=1.4)
    return figure
