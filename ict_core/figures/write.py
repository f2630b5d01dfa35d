"""Figures as PDF and PNG, the same bytes for the same data."""

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from ict_core.figures.style import RC

DPI = 200  # of the PNG

_METADATA: dict[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def write(figure: Figure, name: str, out: Path) -> list[Path]:
    """Write <name>.pdf and <name>.png into the folder `out`; each appears whole or not at all.

    The files carry no date and no software version: the same figure gives the same bytes.
    """
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for ending, metadata in _METADATA.items():
        path = out / f"{name}.{ending}"
        partial = path.with_name(path.name + ".partial")
        with rc_context(RC):
            figure.savefig(partial, format=ending, dpi=DPI, metadata=metadata)
        partial.replace(path)
        paths.append(path)
    return paths
