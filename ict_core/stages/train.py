"""The training of one cell."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ict_core.config import Cell, Study
from ict_core.errors import UserError
from ict_core.store import (
    MANIFEST,
    appearing,
    check_files,
    cost,
    manifest,
    read_manifest,
    records,
    remember_source,
    write_manifest,
)
from ict_core.training import Tracking, TrainingRun, train_run


@dataclass(frozen=True)
class Inputs:
    """The files that a training begins with."""

    base: Path  # the base checkpoint
    problems: Path  # `records.PROBLEMS`
    rate: Path | None = None  # what the stage `tune` wrote of the cell's variant; None where the study does not tune it
    twin: Path | None = None  # the training at the recipe's rate, taken over if that is chosen; None: train in any case


def run(
    study: Study, cell: Cell, inputs: Inputs, out: Path, trackers: Path | None = None, stop_after: int | None = None
) -> None:
    """Train a cell from a base checkpoint; `out` receives what :func:`ict_core.training.train_run` writes.

    `trackers` is a folder for what the study's trackers write; the training may `stop_after` so many optimiser steps.
    UserError: the `rate` of the inputs is missing, or not wanted.
    """
    remember_source()
    rate, twin = inputs.rate, inputs.twin
    if study.is_tuned(cell) != (rate is not None):
        wanted = "the file rate.json of its variant" if rate is None else "none, as the study does not tune it"
        raise UserError(f"--rate {rate}: {cell.folder} of {study.name}; allowed: {wanted}")
    if rate is not None:
        study = study.with_rate(cell, read_manifest(rate)["learning_rate"])
    training = study.training_for(cell)
    if twin is not None and training.learning_rate == study.training.learning_rate:
        take_over(twin, study.resolve(cell), out)
        return
    check_files(inputs.base)
    training_run = TrainingRun(
        base=inputs.base,
        problems=records.read_frame(inputs.problems, records.PROBLEMS),
        model=study.models[cell.model],
        training=training,
        method=study.method_of(cell.variant),
        seed=study.training_seed(cell),
        known_forks=not study.train_sets,
        tracking=Tracking(study.trackers, trackers, study.name, cell.folder) if trackers else None,
    )
    train_run(training_run, study.grading.dump(), study.resolve(cell), out, stop_after)


def take_over(twin: Path, resolved: Mapping[str, Any], out: Path) -> None:
    """Copy a training of the same seed at the same rate, with a manifest of its own that says so (`taken_over`)."""
    started = time.perf_counter()
    made = check_files(twin)
    own = {**manifest(resolved), **cost(started, 0), "taken_over": made["config"]["method"]["name"]}
    with appearing(out) as partial:
        shutil.copytree(twin, partial, dirs_exist_ok=True)
        write_manifest(partial / MANIFEST, {**made, **own})
    print(f"the rate chosen is the recipe's: taken over from {own['taken_over']}")
