"""A base model that begins with worked solutions of the study's training problems."""

from ict_core.errors import UserError
from ict_core.jobs.command import Given, Name, StudyFile, command, study_of_model
from ict_core.process.startup import loading


@command("supervised-start")
def run(study: StudyFile, model: Name, checkpoint: Given, solutions: Given, out: Given) -> None:
    """Train a fetched checkpoint on worked solutions, as its model's file says."""
    loaded = study_of_model(study, model)
    with loading():
        from ict_core.config.study_file import Cell
        from ict_core.problems.templates import templated
        from ict_core.store import records
        from ict_core.store.layout import BASE_VARIANT
        from ict_core.store.manifests import check_files, remember_source
        from ict_core.training.supervised_start import start_from_solutions

    stated, file = loaded.models[model], f"configs/models/{model}.yaml"
    rule = stated.supervised_start
    if rule is None:
        raise UserError(f"{file}: supervised_start: missing; the base model is the checkpoint itself")
    remember_source()
    check_files(checkpoint)
    solved = records.read_frame(solutions, records.SOLUTIONS)
    if rule.problems > len(solved):
        raise UserError(
            f"{file}: supervised_start.problems: {rule.problems} is not allowed; allowed: at most the {len(solved)} of "
            "data.train_sets"
        )
    texts = solved.assign(prompt=templated(stated.prompt, solved["prompt"]))
    resolved = loaded.stage_config("supervised_start", Cell(model, BASE_VARIANT, 0))
    losses = start_from_solutions(checkpoint, texts, rule, loaded.training, stated.dtype, resolved, out)
    print(f"{model}: {len(losses)} steps, loss {losses[0]:.3f}, at the end {losses[-1]:.3f} nats/token")
