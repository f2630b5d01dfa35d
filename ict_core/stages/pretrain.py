"""A base model that is pretrained from scratch."""

from pathlib import Path

from ict_core.config import Cell, ScratchModel, Study
from ict_core.errors import UserError
from ict_core.store import records, remember_source
from ict_core.training.pretrain import pretrain

_TAIL = 50  # steps over which the last loss is a mean


def run(study: Study, base: Cell, held_out: Path, out: Path) -> None:
    """Pretrain one of the study's base models; `out` receives the checkpoint.

    No prompt of the problems `held_out` may be in the text. UserError: the study has no such base model, or it is one
    that is fetched.
    """
    known = study.all_bases()
    if base not in known:
        allowed = ", ".join(str(cell.seed) for cell in known if cell.model == base.model)
        raise UserError(f"--seed {base.seed}: no base model of {base.model} in {study.name}; allowed: {allowed}")
    model = study.base_model(base)
    prompts = set(records.read_frame(held_out, records.PROBLEMS)["prompt"])
    if not isinstance(model, ScratchModel):
        raise UserError(f"configs/models/{base.model}.yaml: kind {model.kind} is not pretrained here")
    remember_source()
    resolved = study.stage_config("base", base)
    losses = pretrain(model.architecture, model.pretraining, prompts, resolved, out)
    tail = losses[-_TAIL:]
    print(f"{base.model}: {len(losses)} steps, loss over the last {len(tail)}: {sum(tail) / len(tail):.4f} nats/token")
