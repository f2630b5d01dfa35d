"""One figure of a study."""

from ict_core.errors import UserError
from ict_core.jobs.command import Name, Results, StoredFolder, command


@command("figure", portable=True, writes="results")
def run(stored: StoredFolder, results: Results, name: Name) -> None:
    """Make one figure."""
    from ict_core.evidence.stored import Stored
    from ict_core.figures.registry import FIGURES, draw, note
    from ict_core.figures.write import write
    from ict_core.store.layout import StudyFiles

    if name not in FIGURES:
        raise UserError(f"figure {name!r} is unknown; allowed: {', '.join(FIGURES)}")
    study = Stored(stored, results)
    write(draw(name, study), name, StudyFiles(results).figures, note(name, study))
