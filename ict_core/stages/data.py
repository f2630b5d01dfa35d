"""The problems that a study trains and evaluates on."""

from ict_core.jobs.command import Given, HeldOut, StudyFile, command, mirror_of, study_to_run


@command("data", writes="held_out")
def run(study: StudyFile, train: Given, held_out: HeldOut) -> None:
    """Make the training and evaluation problems."""
    loaded = study_to_run(study)
    from ict_core.problems.assemble import study_problems
    from ict_core.store import records

    training, evaluation = study_problems(loaded, mirror_of(loaded, study))
    records.write_frame(evaluation, held_out, records.PROBLEMS)
    records.write_frame(training, train, records.PROBLEMS)
