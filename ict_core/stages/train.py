"""The training of one cell."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ict_core.errors import UserError
from ict_core.jobs.command import Given, OneCell, command, prepare, study_to_run
from ict_core.process.environment import check_trackers
from ict_core.process.startup import loading
from ict_core.seeding import derive_seed

if TYPE_CHECKING:
    from ict_core.config.methods import Training
    from ict_core.config.study import Study
    from ict_core.config.study_file import Cell


@dataclass(frozen=True)
class Inputs:
    """The files that a training begins with: the base checkpoint and `records.PROBLEMS`."""

    base: Given
    problems: Given
    held_out: Annotated[
        Path | None, Option(help="the evaluation problems, where the study draws a learning curve of the cell")
    ] = None
    rate: Annotated[Path | None, Option(help="rate.json of the cell's variant, where the study tunes it")] = None
    twin: Annotated[
        Path | None, Option(help="the training at the recipe's rate, taken over if that is chosen (default: train)")
    ] = None


def preload(study: "Study") -> None:
    """Import what all trainings of a study need."""
    _load(*(study.training_of(cell.model, cell.variant) for cell in study.trained_cells()))


def _load(*recipes: "Training") -> None:
    """Import the training, without packages that transformers and TRL import if installed and no recipe uses."""
    without: tuple[str, ...] = () if any(recipe.lora for recipe in recipes) else ("peft",)
    without += () if any(recipe.rollouts for recipe in recipes) else ("scipy", "vllm")  # vllm needs scipy
    with loading(without=without):
        from ict_core.training.run import train_run  # noqa: F401


@command("train")
def run(
    cell: OneCell,
    inputs: Inputs,
    out: Given,
    stop_after: Annotated[
        int | None, Option(min=1, help="optimiser steps, for `ict verify` (default: the recipe's steps)")
    ] = None,
    trackers: Annotated[Path | None, Option(help="a folder for the files of the trackers that the study names")] = None,
) -> None:
    """Train one cell."""
    study = study_to_run(cell.study)
    prepare()
    chosen = cell.of(study, trained=True)
    check_trackers(study.trackers)
    if study.trackers and trackers is None:
        raise UserError(f"{cell.study}: trackers: {', '.join(study.trackers)} need a folder; give --trackers FOLDER")
    _load(study.training_of(chosen.model, chosen.variant))
    from ict_core.jobs.launch import launcher_hash
    from ict_core.store import records
    from ict_core.store.manifests import check_files, read_manifest, remember_source
    from ict_core.training.learning_curve import HeldOut
    from ict_core.training.run import Tracking, TrainingRun, train_run

    remember_source()
    if study.is_tuned(chosen) != (inputs.rate is not None):
        expected = "the file rate.json of its variant" if inputs.rate is None else "none, as the study does not tune it"
        raise UserError(f"--rate {inputs.rate}: {chosen.folder} of {study.name}; allowed: {expected}")
    if inputs.rate is not None:
        study = study.with_rate(chosen, read_manifest(inputs.rate)["learning_rate"])
    training, resolved = study.training_for(chosen), study.resolve(chosen)
    if inputs.twin is not None and training.learning_rate == study.training.learning_rate:
        take_over(inputs.twin, resolved, out)
        return
    check_files(inputs.base)
    held_out, recorded = None, study.recorded(chosen)
    if study.learning_curve is not None and "learning_curve" in recorded:
        if inputs.held_out is None:
            raise UserError(f"{cell.study}: learning_curve needs held-out problems; give --held-out data/eval.parquet")
        questions = records.read_frame(inputs.held_out, records.PROBLEMS)
        held_out = HeldOut.of(study.learning_curve, questions, study.data.seed)
    training_run = TrainingRun(
        base=inputs.base,
        problems=records.read_frame(inputs.problems, records.PROBLEMS),
        model=study.models[chosen.model],
        training=training,
        method=study.method_of(chosen.variant),
        seed=training_seed(study, chosen),
        known_forks=not study.train_sets,
        tracking=Tracking(study.trackers, trackers, study.name, chosen.folder) if study.trackers and trackers else None,
        held_out=held_out,
        keep_rollouts="keep_rollouts" in recorded,
        launcher=launcher_hash(cell.study, study, chosen.model),
    )
    train_run(training_run, study.grading.dump(), resolved, out, stop_after)


def training_seed(study: "Study", cell: "Cell") -> int:
    """The seed of all random numbers of a cell's training: the cell's, or for a replica above 0 one derived from it."""
    replica = study.method_of(cell.variant).replica
    return derive_seed(cell.seed, "replica", replica) if replica else cell.seed


def take_over(twin: Path, resolved: Mapping[str, Any], out: Path) -> None:
    """Copy a training of the same seed at the same rate, with a manifest of its own that says so (`taken_over`).

    Under a launcher every rank calls this function, and the first rank copies.

    Raises:
        UserError: the two differ in more than their names and their tuning.
    """
    import json
    import shutil

    from ict_core.config.comparison import compare
    from ict_core.store.files import appearing
    from ict_core.store.layout import MANIFEST
    from ict_core.store.manifests import check_files, cost, manifest, write_manifest

    started = time.perf_counter()
    made = check_files(twin)
    for key, value, other in compare(json.loads(json.dumps(resolved)), made["config"]).different:
        if key != "method.name" and not key.startswith("tuning."):
            raise UserError(f"--twin {twin}: {key} is {other!r}; allowed: {value!r}, as in the training asked for")
    if os.environ.get("RANK", "0") != "0":
        return
    new_entries = {**manifest(resolved), **cost(started, 0), "taken_over": made["config"]["method"]["name"]}
    with appearing(out) as partial:
        shutil.copytree(twin, partial, dirs_exist_ok=True)
        write_manifest(partial / MANIFEST, {**made, **new_entries})
    print(f"the rate chosen is the recipe's: taken over from {new_entries['taken_over']}")
