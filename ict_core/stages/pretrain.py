"""A base model that is pretrained from scratch."""

from typing import TYPE_CHECKING

from ict_core.errors import UserError
from ict_core.jobs.command import BaseNumber, Given, HeldOut, Name, StudyFile, command, study_of_model
from ict_core.process.startup import loading

if TYPE_CHECKING:
    from ict_core.config.study import Study

_TAIL = 50  # steps over which the last loss is a mean


def preload(_study: "Study") -> None:
    """Import what a pretraining needs: not scipy, which transformers imports wherever it is installed."""
    with loading(without=("scipy",)):
        import ict_core.training.pretrain  # noqa: F401


@command("pretrain")
def run(study: StudyFile, model: Name, held_out: HeldOut, out: Given, seed: BaseNumber = 0) -> None:
    """Pretrain a base model."""
    loaded = study_of_model(study, model)
    preload(loaded)
    from ict_core.config.inputs import ScratchModel
    from ict_core.config.study_file import Cell
    from ict_core.store import records
    from ict_core.store.layout import BASE_VARIANT
    from ict_core.store.manifests import remember_source
    from ict_core.training.pretrain import pretrain

    base, bases = Cell(model, BASE_VARIANT, seed), loaded.all_bases()
    if base not in bases:
        allowed = ", ".join(str(cell.seed) for cell in bases if cell.model == model)
        raise UserError(f"--seed {seed}: no base model of {model} in {loaded.name}; allowed: {allowed}")
    stated = loaded.base_model(base)
    prompts = set(records.read_frame(held_out, records.PROBLEMS)["prompt"])  # none of them may be in the text
    if not isinstance(stated, ScratchModel):
        raise UserError(f"configs/models/{model}.yaml: kind {stated.kind} is not pretrained here")
    remember_source()
    losses = pretrain(stated.architecture, stated.pretraining, prompts, loaded.stage_config("base", base), out)
    tail = losses[-_TAIL:]
    print(f"{model}: {len(losses)} steps, loss over the last {len(tail)}: {sum(tail) / len(tail):.4f} nats/token")
