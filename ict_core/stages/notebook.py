"""The notebook of a study."""

from ict_core.jobs.command import Given, Results, StoredFolder, command


@command("notebook", portable=True, writes="results")
def run(stored: StoredFolder, results: Results, notebook: Given) -> None:
    """Execute a notebook on the study."""
    from ict_core.report.notebook import execute

    execute(notebook, stored, results)
