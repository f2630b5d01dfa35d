"""A base model that begins with worked solutions of the study's training problems."""

from pathlib import Path

from ict_core.config import BASE_VARIANT, Cell, Study
from ict_core.errors import UserError
from ict_core.problems import templated
from ict_core.store import check_files, records, remember_source
from ict_core.training.supervised_start import start_from_solutions


def run(study: Study, name: str, checkpoint: Path, solutions: Path, out: Path) -> None:
    """Train the fetched checkpoint of that model as its `supervised_start` says; `out` receives the base model.

    UserError: the model's file states none, the checkpoint is not as it was fetched, or there are too few solutions.
    """
    model = study.models[name]
    rule = model.supervised_start
    if rule is None:
        raise UserError(
            f"configs/models/{name}.yaml: supervised_start: missing; the base model is the checkpoint itself"
        )
    remember_source()
    check_files(checkpoint)
    solved = records.read_frame(solutions, records.SOLUTIONS)
    if rule.problems > len(solved):
        raise UserError(
            f"configs/models/{name}.yaml: supervised_start.problems: {rule.problems} is not allowed; "
            f"allowed: at most the {len(solved)} of data.train_sets"
        )
    texts = solved.assign(prompt=templated(model.prompt, solved["prompt"]))
    resolved = study.stage_config("supervised_start", Cell(name, BASE_VARIANT, 0))
    losses = start_from_solutions(checkpoint, texts, rule, study.training, model.dtype, resolved, out)
    print(f"{name}: {len(losses)} steps, loss {losses[0]:.3f}, at the end {losses[-1]:.3f} nats/token")
