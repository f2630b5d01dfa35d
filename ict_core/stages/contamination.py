"""What the evaluation sets share with the training data."""

from ict_core.jobs.command import Given, HeldOut, StudyFile, command, study_to_run


@command("contamination", writes="counts")
def run(study: StudyFile, train: Given, held_out: HeldOut, counts: Given, pairs: Given) -> None:
    """Compare the evaluation sets with the training data."""
    loaded = study_to_run(study)
    from ict_core.contamination.overlap import audit
    from ict_core.store import records

    training, evaluation = (records.read_frame(path, records.PROBLEMS) for path in (train, held_out))
    by_benchmark, near = audit(training, evaluation, loaded.grading.dump())
    records.write_frame(near, pairs, records.NEAR_DUPLICATES)
    records.write_frame(by_benchmark, counts, records.CONTAMINATION)
    print(by_benchmark.to_string(index=False))
