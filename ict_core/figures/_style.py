"""One colour, line, marker and label a variant, the same in every figure.

Colours are those of Okabe and Ito (2008), then of Tol (2021), which readers with any colour vision tell apart; no
spare style has a colour of the paper's methods. The fractions of the ICT rule run from its light orange to a dark
brown, so that their order is seen. Line and marker say the same once more.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType, RcKeyType

from ict_core.statistics import BASE, selector_and_percent

COLUMN_WIDTH = 3.35  # inches, one column of a two-column page
TEXT_WIDTH = 6.75  # inches, both columns

RC: dict[RcKeyType, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # embedded TrueType, which journals accept and readers can search
}


@dataclass(frozen=True)
class Style:
    """How a variant's line is drawn."""

    colour: str
    line: LineStyleType
    marker: str
    width: float = 1.1  # points


_DASHED: LineStyleType = (0.0, (4.0, 1.5))
_LONG_DASHED: LineStyleType = (0.0, (6.0, 4.0))  # lets an equal curve below show through
_DOTTED: LineStyleType = (0.0, (1.2, 1.2))
_DASHDOT: LineStyleType = (0.0, (5.0, 1.5, 1.2, 1.5))

_STYLES = {
    BASE: Style("#7F7F7F", _DASHED, "None"),
    "grpo": Style("#000000", "-", "o", width=2.0),  # its rim shows where an equal curve lies on it
    "entropy-20": Style("#0072B2", "-", "s"),
    "stapo": Style("#009E73", _LONG_DASHED, "^"),
    "ict-5": Style("#E69F00", _DASHED, "v"),
    "ict-10": Style("#D55E00", "-", "D"),
    "ict-20": Style("#8F3F00", _DASHDOT, "p"),
    "ict-30": Style("#4F2300", _DOTTED, "<"),
    "random-10": Style("#CC79A7", "-", "h"),
    "frequent-90": Style("#882255", _DASHED, "P"),
    "wasserstein-10": Style("#56B4E9", _DASHDOT, ">"),
    "kl-10": Style("#B8A800", _DASHED, "d"),
    "tv-10": Style("#332288", _DOTTED, "*"),
    "entropy-10": Style("#44AA99", _DASHDOT, "X"),
}
_SPARE = [
    Style(colour, line, marker)
    for line, marker in (("-", "X"), (_DASHDOT, "*"), (_DOTTED, "d"), (_DASHED, ">"))
    for colour in ("#56B4E9", "#882255", "#44AA99", "#B8A800", "#332288")
]

_LABELS = {BASE: "Base", "grpo": "GRPO", "stapo": "STAPO", "entropy-20": "20-Entropy"}
_SELECTORS = {"ict": "ICT", "kl": "KL", "tv": "TV"}


def style(variant: str) -> Style:
    """The variant's style; one that is not listed gets a spare style that depends on its name alone."""
    return _STYLES.get(variant, _SPARE[hashlib.sha256(variant.encode()).digest()[0] % len(_SPARE)])


def label(variant: str) -> str:
    """The variant's name for readers: `ict-10` is "ICT 10 %"."""
    if variant in _LABELS:
        return _LABELS[variant]
    if parts := selector_and_percent(variant):
        return f"{_SELECTORS.get(parts[0], parts[0].capitalize())} {parts[1]} %"
    return variant


Marks = Literal["lines", "filled", "open", "markers"]
"""How a legend shows a variant: its line alone, with its filled or open marker, or the open marker alone."""


def handles(variants: Sequence[str], marks: Marks) -> list[Line2D]:
    """Legend entries, in order."""
    return [
        Line2D(
            [],
            [],
            color=s.colour,
            linestyle="None" if marks == "markers" else s.line,
            marker="None" if marks == "lines" else s.marker,
            markersize=3.5,
            markerfacecolor=s.colour if marks == "filled" else "white",
            linewidth=max(s.width, 1.4),
        )
        for s in map(style, variants)
    ]
