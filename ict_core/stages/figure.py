"""One figure of a study."""

from ict_core.errors import UserError
from ict_core.jobs.command import Name, Results, StoredFolder, command


@command("figure", portable=True, writes="results")
def run(stored: StoredFolder, results: Results, name: Name) -> None:
    """Make one figure."""
    from ict_core.evidence import Stored
    from ict_core.figures import FIGURES, draw, note, write
    from ict_core.store import StudyFiles

    if name not in FIGURES:
        raise UserError(f"figure {name!r} is unknown; allowed: {', '.join(FIGURES)}")
    study = Stored(stored, results)
    write(draw(name, study), name, StudyFiles(results).figures, note(name, study))
