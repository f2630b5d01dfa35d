"""The pages of a study."""

from ict_core.jobs.command import Results, StoredFolder, command


@command("report", portable=True, writes="results")
def run(stored: StoredFolder, results: Results) -> None:
    """Write the report, the answer and the overview."""
    from ict_core.report.build import write_report

    write_report(stored, results)
