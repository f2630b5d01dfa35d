"""The training problems that a base model sometimes answers right: from those GRPO can learn."""

from ict_core.errors import UserError
from ict_core.jobs.command import BaseNumber, Given, Name, StudyFile, command, study_of_model


@command("within-reach")
def run(
    study: StudyFile, model: Name, checkpoint: Given, problems: Given, cache: Given, out: Given, seed: BaseNumber = 0
) -> None:
    """Choose the training problems that a base model answers right at times."""
    loaded = study_of_model(study, model)
    import pandas as pd

    from ict_core.evaluation.answers import answers
    from ict_core.grading.grade import grade_completions
    from ict_core.seeding import generator
    from ict_core.store import records
    from ict_core.store.manifests import remember_source

    rule, training = loaded.data.within_reach, loaded.training
    if rule is None:
        raise UserError(f"{loaded.name}: data.within_reach: missing; the training problems are all of them")
    remember_source()
    pool = records.read_frame(problems, records.PROBLEMS)
    if rule.problems is not None and rule.problems < len(pool):
        drawn = generator(loaded.data.seed, "within reach").choice(len(pool), rule.problems, replace=False)
        pool = pool.iloc[sorted(drawn)].reset_index(drop=True)
    as_in_training = {"temperature": training.temperature, "top_p": 1.0, "max_new_tokens": training.max_new_tokens}
    evaluation = loaded.evaluation.changed(samples=rule.samples, samples_of=None, **as_in_training)
    completions, facts = answers(checkpoint, loaded.models[model], evaluation, pool, seed, cache)
    grades = grade_completions(completions, pool, workers=loaded.evaluation.threads, **loaded.grading.dump())
    right = (grades["status"] == "correct").groupby([grades["benchmark"], grades["problem"]]).mean()
    mixed = right[(right > 0) & (right < 1)]
    keys = pd.MultiIndex.from_frame(pool[["benchmark", "problem"]])
    chosen = pool[keys.isin(mixed.index)].reset_index(drop=True)
    trained = {cell.variant for cell in loaded.cells() if cell.model == model}
    needed = max(loaded.training_of(model, variant).prompts_per_step for variant in trained)
    if len(chosen) < needed:
        raise UserError(
            f"{loaded.name}: data.within_reach: {len(chosen)} of {len(pool)} problems are answered right in some of "
            f"{rule.samples} samples and not in all; allowed: at least {needed}, the prompts of a "
            "step: ask more problems, or take more samples"
        )
    records.write_frame(chosen, out, records.PROBLEMS)
    print(
        f"{facts['engine']} {facts['engine_version']}: {len(chosen)} of {len(pool)} problems within reach, by "
        f"{len(completions)} answers of {completions['tokens'].sum()} tokens, {right.mean():.1%} of them right"
    )
