"""The settings by which a cell samples and selects: from its own manifest, a base model's from its study's file."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ict_core.config.inputs import Template
from ict_core.config.load import load_study
from ict_core.config.methods import Method, Training
from ict_core.config.mistakes import shown
from ict_core.config.selectors import method_schema
from ict_core.config.study_file import Grading
from ict_core.errors import UserError
from ict_core.store.layout import MANIFEST, CellFiles
from ict_core.store.manifests import read_manifest
from ict_core.tools.place import Place, place_of


@dataclass(frozen=True)
class Inspected:
    """A checkpoint, and the settings by which its rollouts are sampled, graded and selected."""

    name: str  # its place in the results, study/model/variant/seed-n
    study: Path  # the folder of its study's results
    checkpoint: Path
    template: Template | None
    training: Training
    grading: dict[str, Any]  # the limits of the verifier, as keywords of `GradingPool`
    known_forks: bool  # whether the training problems are the mini world's
    rules: dict[str, Method]  # the rule that trained it, by its name; none for a base model


def inspected(folder: Path, study_file: Path | None = None) -> Inspected:
    """A trained cell or a base model of a study's results; a base model needs its study's file, a cell takes none."""
    file = CellFiles(folder).train / MANIFEST
    if file.exists():
        if study_file is not None:
            raise UserError(f"--study {study_file}: {shown(folder)} has its recipe in {shown(file)}; leave it out")
        return _trained(folder.resolve(), file)
    place = place_of(folder)
    if not (place.is_base and (place.checkpoint / "config.json").exists()):
        raise UserError(
            f"{folder}: neither a trained cell nor a base model; allowed: results/STUDY/MODEL/VARIANT/seed-N, which "
            "holds train/manifest.json, or results/STUDY/MODEL/base, which holds seed-0/model/config.json"
        )
    if study_file is None:
        raise UserError(f"{folder}: a base model has no recipe of its own; name its study: --study configs/studies/...")
    return _base(place, study_file)


def _trained(folder: Path, file: Path) -> Inspected:
    config = read_manifest(file)["config"]
    method, prompt = dict(config["method"]), config["model"].get("prompt")
    variant = method.pop("name")
    return Inspected(
        name="/".join(folder.parts[-4:]),
        study=folder.parents[2],
        checkpoint=CellFiles(folder).model,
        template=_section(file, "model.prompt", prompt and {"source": "its study", **prompt}, Template | None),
        training=_section(file, "training", config["training"], Training),
        grading=_section(file, "grading", config["grading"], Grading).dump(),
        known_forks="train_sets" not in config["data"],
        rules={variant: _section(file, "method", method, method_schema())},
    )


def _section(file: Path, key: str, value: Any, schema: Any) -> Any:
    """A section of a manifest's configuration."""
    try:
        return TypeAdapter(schema).validate_json(json.dumps(value))
    except ValidationError as error:
        detail = error.errors()[0]
        at = ".".join(map(str, (key, *detail["loc"])))
        raise UserError(
            f"{shown(file)}: config.{at}: {detail['msg']}; it was written by another version: train the cell again"
        ) from None


def _base(place: Place, study_file: Path) -> Inspected:
    study, name = load_study(study_file), place.cell.model
    if name not in study.models:
        raise UserError(f"{study_file}: no model {name!r} in its grid; allowed: {', '.join(study.models)}")
    return Inspected(
        name=f"{place.results.name}/{place.cell.folder}",
        study=place.results,
        checkpoint=place.checkpoint,
        template=study.models[name].prompt,
        training=study.training_of(name),
        grading=study.grading.dump(),
        known_forks=not study.train_sets,
        rules={},
    )
