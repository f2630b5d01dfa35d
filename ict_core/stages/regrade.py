"""What another grader changes in the verdicts on a study's stored completions."""

from typing import Annotated

from typer import Option

from ict_core.jobs.command import Given, MaybeCells, Results, StudyFile, command, study_to_run


@command("regrade")
def run(
    study: StudyFile,
    results: Results,
    out: Given,
    cells: MaybeCells = None,
    stored: Annotated[bool, Option("--stored", help="write the study's stored files under the new grades too")] = False,
) -> None:
    """List the answers whose verdict changed when a study's completions were graded anew."""
    loaded = study_to_run(study)
    from ict_core.report.regrade import regrade

    regrade(loaded, results, out, stored, cells)
