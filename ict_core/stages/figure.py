"""One figure of a study."""

from pathlib import Path

from ict_core.errors import UserError
from ict_core.evidence import Stored
from ict_core.figures import FIGURES, draw, note, write
from ict_core.store import StudyFiles


def run(stored: Path, results: Path, name: str) -> None:
    """Draw a figure of what was measured (`stored`) and its statistics, in `results`.

    UserError: there is no figure of that name, or nothing to draw.
    """
    if name not in FIGURES:
        raise UserError(f"figure {name!r} is unknown; allowed: {', '.join(FIGURES)}")
    study = Stored(stored, results)
    write(draw(name, study), name, StudyFiles(results).figures, note(name, study))
