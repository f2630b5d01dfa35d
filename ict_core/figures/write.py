"""Figures as PDF and PNG, the same bytes for the same data."""

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from ict_core.figures.panels import RC, draw_note
from ict_core.store.files import appearing

DPI = 200  # of the PNG

_METADATA: dict[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def write(figure: Figure, name: str, out: Path, note: str = "") -> list[Path]:
    """Write <name>.pdf and <name>.png into the folder `out`; each appears whole or not at all.

    The figure gets the note at its foot and a fixed layout. The same figure gives the same bytes: the files carry no
    date and no software version. Where nothing is drawn the PNG's description says why (`registry.sentence_of`).
    """
    paths = {ending: out / f"{name}.{ending}" for ending in _METADATA}
    with rc_context(RC):
        draw_note(figure, note)
        figure.dpi = DPI
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for axis in figure.axes:  # at 6 decimals of the figure: the solver's last digits differ between calls
            left, bottom, width, height = (round(side, 6) for side in axis.get_position(original=True).bounds)
            axis.set_position((left, bottom, width, height))
        for ending, path in paths.items():
            description = {"Description": str(figure.get_label())} if figure.get_label() and ending == "png" else {}
            with appearing(path) as partial:
                figure.savefig(partial, format=ending, dpi=DPI, metadata=_METADATA[ending] | description)
    return list(paths.values())
