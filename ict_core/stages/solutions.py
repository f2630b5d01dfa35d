"""The worked solutions on which a supervised start trains."""

from ict_core.jobs.command import Given, StudyFile, command, mirror_of, study_to_run


@command("solutions")
def run(study: StudyFile, out: Given) -> None:
    """Read the worked solutions of the training problems."""
    loaded = study_to_run(study)
    from ict_core.problems.assemble import solved_problems
    from ict_core.store import records

    records.write_frame(solved_problems(loaded, mirror_of(loaded, study)), out, records.SOLUTIONS)
