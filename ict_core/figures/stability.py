"""How often smaller studies, drawn from the study's own seeds, come to its verdicts."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ict_core.figures._panels import row_panels, sentence
from ict_core.figures._registry import FigureDeclaration

FIGURE = FigureDeclaration(
    place=16,
    title="Stability of the verdicts",
    caption=(
        "For every claim that the study tests, the share of smaller studies, drawn without replacement from its seeds "
        "and decided as the ledger decides, that reach the verdict of all seeds, another one (mostly not resolved), or "
        "the opposite one. In parentheses stands the verdict of all seeds."
    ),
    inputs=("stability",),
)

_PARTS = {
    "same": ("#4477AA", "the same verdict"),
    "other": ("#DDDDDD", "another"),
    "opposite": ("#CC3311", "the opposite"),
}


def draw(stability: pd.DataFrame, variants: Sequence[str]) -> Figure:
    if stability.empty:
        return sentence("The study has too few seeds for smaller ones to be drawn from it.")
    sizes = [int(size) for size in stability["seeds"].unique()]
    first = stability[stability["seeds"] == sizes[0]]
    names = [f"{row.claim} ({row.verdict})" for row in first.itertuples()]
    figure, axes = row_panels(1, [f"{size} seeds" for size in sizes], names, sharex="all")
    for axis, size in zip(axes[0], sizes, strict=True):
        rows = stability[stability["seeds"] == size]
        left = np.zeros(len(rows))
        for part, (colour, _) in _PARTS.items():
            widths = 100 * rows[part].to_numpy()
            axis.barh(range(len(rows)), widths, left=left, height=0.72, color=colour, linewidth=0)
            left = left + widths
        axis.set_xlim(0, 100)
        axis.set_xlabel("studies (%)")
    entries = [Patch(color=colour, label=name) for colour, name in _PARTS.values()]
    figure.legend(handles=entries, loc="outside lower center", ncols=len(entries))
    return figure
