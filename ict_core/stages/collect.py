"""The output of every cell, gathered in the few files from which all evidence is made."""

from ict_core.jobs.command import MaybeCells, Results, StudyFile, command, study_to_run
from ict_core.store.layout import CLAIMS


@command("collect", writes="results")
def run(study: StudyFile, results: Results, cells: MaybeCells = None) -> None:
    """Gather the output of all cells into the study's files."""
    loaded = study_to_run(study)
    from ict_core.evidence.cells import counted
    from ict_core.evidence.collect import collect

    collect(results, loaded, counted(loaded, cells), declaring=(CLAIMS, study))
