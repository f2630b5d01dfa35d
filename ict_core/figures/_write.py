"""Figures as PDF and PNG, the same bytes for the same data."""

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from ict_core.figures._panels import RC, draw_note
from ict_core.store import appearing

DPI = 200  # of the PNG
DIGITS = 6

_METADATA: dict[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def settle(figure: Figure) -> None:
    """Lay the figure out and fix its panels where they are, at :data:`DIGITS` decimals of its size.

    The solver of the layout visits its variables in an order that memory addresses decide, so that its last decimals
    differ from one call to the next.
    """
    figure.dpi = DPI
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axis in figure.axes:
        left, bottom, width, height = (round(side, DIGITS) for side in axis.get_position(original=True).bounds)
        axis.set_position((left, bottom, width, height))


def write(figure: Figure, name: str, out: Path, note: str = "") -> list[Path]:
    """Write <name>.pdf and <name>.png into the folder `out`; each appears whole or not at all.

    The files carry no date and no software version: the same figure gives the same bytes.

    Args:
        figure: gets the note and a fixed layout.
        note: a sentence for the foot of the figure, such as that its study is one in miniature.
    """
    paths = {ending: out / f"{name}.{ending}" for ending in _METADATA}
    with rc_context(RC):
        draw_note(figure, note)
        settle(figure)
        for ending, path in paths.items():
            with appearing(path) as partial:
                figure.savefig(partial, format=ending, dpi=DPI, metadata=_METADATA[ending])
    return list(paths.values())
