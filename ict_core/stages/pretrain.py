"""A base model that is pretrained from scratch."""

from pathlib import Path

from ict_core.config import BASE_VARIANT, Cell, ScratchModel, Study
from ict_core.errors import UserError
from ict_core.store import records, remember_source
from ict_core.training.pretrain import pretrain

_TAIL = 50  # steps over which the last loss is a mean


def run(study: Study, name: str, held_out: Path, out: Path) -> None:
    """Pretrain the base model of that name; `out` receives the checkpoint.

    No prompt of the problems `held_out` may be in the text. UserError: the model is one that is fetched.
    """
    model = study.models[name]
    prompts = set(records.read_frame(held_out, records.PROBLEMS)["prompt"])
    if not isinstance(model, ScratchModel):
        raise UserError(f"configs/models/{name}.yaml: kind {model.kind} is not pretrained here")
    remember_source()
    resolved = study.stage_config("base", Cell(name, BASE_VARIANT, 0))
    losses = pretrain(model.architecture, model.pretraining, prompts, resolved, out)
    tail = losses[-_TAIL:]
    print(f"{name}: {len(losses)} steps, loss over the last {len(tail)}: {sum(tail) / len(tail):.4f} nats/token")
