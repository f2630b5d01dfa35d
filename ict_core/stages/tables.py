"""Every table of a study."""

from ict_core.jobs.command import Given, Results, StoredFolder, command


@command("tables", portable=True, writes="results")
def run(stored: StoredFolder, results: Results, paper: Given) -> None:
    """Make every table."""
    from ict_core.evidence.stored import Stored
    from ict_core.store.layout import StudyFiles
    from ict_core.tables.build import build_tables
    from ict_core.tables.paper import read_paper

    build_tables(Stored(stored, results), read_paper(paper), StudyFiles(results).tables)
