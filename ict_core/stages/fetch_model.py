"""A base model from the hub or a folder."""

from ict_core.errors import UserError
from ict_core.jobs.command import Given, Name, StudyFile, command, mirror_of, study_of_model
from ict_core.process.startup import loading


@command("fetch-model")
def run(study: StudyFile, model: Name, out: Given) -> None:
    """Fetch and check a base model."""
    loaded = study_of_model(study, model, downloads=True)
    with loading():
        from ict_core.config.inputs import ScratchModel
        from ict_core.config.load import has_problems
        from ict_core.config.study_file import Cell
        from ict_core.models.fetch import fetch_model
        from ict_core.problems.assemble import check_study_access
        from ict_core.store.layout import BASE_VARIANT, repository, study_folder
        from ict_core.store.manifests import remember_source
        from ict_core.training.fast.packed_forward import check_family

    stated, file, root = loaded.models[model], f"configs/models/{model}.yaml", repository(study)
    if isinstance(stated, ScratchModel):
        raise UserError(f"{file}: kind {stated.kind} is pretrained, not fetched")
    remember_source()
    # before gigabytes are fetched for a study that cannot get its data
    if not has_problems(root / study_folder(loaded.name)):
        check_study_access(loaded, mirror_of(loaded, study))
    resolved = loaded.stage_config("base", Cell(model, BASE_VARIANT, 0))
    checks = [check_family] if loaded.training.passes == "packed" else []
    fetch_model(stated, file, root, resolved, out, *checks)
