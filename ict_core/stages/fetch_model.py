"""A base model from the hub or a folder."""

from pathlib import Path

from ict_core.config import BASE_VARIANT, Cell, ScratchModel, Study, has_problems
from ict_core.errors import UserError
from ict_core.models import fetch_model
from ict_core.problems import check_study_access
from ict_core.store import remember_source, study_folder
from ict_core.training import check_family


def run(study: Study, name: str, repository: Path, mirror: Path | None, out: Path) -> None:
    """Fetch and check the base model of that name; `out` receives the checkpoint.

    Relative paths of the configuration start at `repository`; `mirror` stands for the hub of the study's problems. A
    UserError where the model is one that is pretrained, or the study's problems cannot be had.
    """
    model, file = study.models[name], f"configs/models/{name}.yaml"
    if isinstance(model, ScratchModel):
        raise UserError(f"{file}: kind {model.kind} is pretrained, not fetched")
    remember_source()
    # gigabytes for a study that cannot have its data are for nothing
    if not has_problems(repository / study_folder(study.name)):
        check_study_access(study, mirror)
    resolved = study.stage_config("base", Cell(name, BASE_VARIANT, 0))
    if study.training.passes == "packed":
        fetch_model(model, file, repository, resolved, out, check_family)
    else:
        fetch_model(model, file, repository, resolved, out)
