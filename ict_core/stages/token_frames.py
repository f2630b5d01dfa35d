"""The frames of a token study: what every rule does with untrained models' tokens."""

from ict_core.jobs.command import Results, StudyFile, command, prepare, study_to_run


@command("token-frames", writes="results")
def run(study: StudyFile, results: Results) -> None:
    """Compute what every rule does with the untrained models' tokens, prompt by prompt."""
    loaded = study_to_run(study)
    prepare()
    from ict_core.evidence.token_study import write_token_frames

    write_token_frames(loaded, results)
