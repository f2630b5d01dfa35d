"""A model's answers with their tokens, for reading; the evaluation's are reused if there are any."""

from ict_core.errors import UserError
from ict_core.jobs.command import Given, Name, StudyFile, command, study_of_model


@command("rollouts")
def run(study: StudyFile, model: Name, checkpoint: Given, problems: Given, cache: Given, out: Given) -> None:
    """Sample and grade a model's answers, with their tokens."""
    loaded = study_of_model(study, model)
    from ict_core.evaluation.answers import answers
    from ict_core.grading.grade import grade_completions
    from ict_core.store import records
    from ict_core.store.manifests import remember_source

    remember_source()
    evaluation = loaded.evaluation
    sizes = {evaluation.samples_for(benchmark) for benchmark in loaded.benchmarks}
    if len(sizes) > 1:
        raise UserError(f"evaluation.samples_of: {sorted(sizes)} samples; allowed in a token study: one number for all")
    questions = records.read_frame(problems, records.PROBLEMS)
    completions, facts = answers(checkpoint, loaded.models[model], evaluation, questions, 0, cache)
    grades = grade_completions(completions, questions, workers=evaluation.threads, **loaded.grading.dump())
    rollouts = completions.assign(status=grades["status"].to_numpy())
    records.write_frame(rollouts[list(records.ROLLOUTS)], out, records.ROLLOUTS)
    tokens = completions["tokens"].sum()
    print(
        f"{facts['engine']} {facts['engine_version']}: {len(rollouts)} answers of {tokens} tokens, "
        f"{facts['completions_reused']} reused; {(rollouts['status'] == 'correct').mean():.1%} right"
    )
