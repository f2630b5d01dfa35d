"""Reruns the stages of one finished cell, each by its own command in a process of its own, into another folder."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ict_core.config.inputs import ScratchModel
from ict_core.config.study import Study
from ict_core.errors import UserError
from ict_core.jobs.causes import cause, last_lines
from ict_core.jobs.launch import gpus, launch, processes
from ict_core.store.layout import LEARNING_CURVE, StudyFiles
from ict_core.tools.place import Place


def chosen_stages(place: Place, study: Study, wanted: str | None, steps: int | None) -> tuple[str, ...]:
    """The stages to run again, in their order.

    `wanted` are names separated by commas. Without it, all stages that can be rerun, or the training alone if the
    optimiser `steps` are given. A fetched model has no `pretrain`.
    """
    possible: tuple[str, ...] = ("train", "generate", "grade")
    if place.cell not in study.evaluated:  # it answers no benchmark
        possible = possible[:1]
    if place.is_base:  # pretrained, or fetched and not made
        made = isinstance(study.models[place.cell.model], ScratchModel)
        possible = ("pretrain", *possible[1:]) if made else possible[1:]
    chosen = possible[:1] if steps is not None and wanted is None else possible
    if wanted is not None:
        names = [name.strip() for name in wanted.split(",")]
        unknown = [name for name in names if name not in possible]
        if unknown:
            raise UserError(f"--stages {wanted}: {', '.join(unknown)} cannot be rerun; allowed: {','.join(possible)}")
        chosen = tuple(name for name in possible if name in names)
    if steps is not None and chosen != ("train",):
        raise UserError(f"--steps {steps}: only a training has steps; allowed with --stages train alone")
    if steps is not None:
        training = study.training_for(place.cell)
        if not 1 <= steps <= training.steps or steps % training.updates:
            batches = f", a multiple of {training.updates} (updates_per_rollout)" if training.updates > 1 else ""
            raise UserError(f"--steps {steps}: allowed: 1 to {training.steps}, the steps of its training{batches}")
    return chosen


# Snakemake sets these for every job: linear algebra sums in another order with another number of threads
_THREADS = ("OMP", "GOTO", "OPENBLAS", "MKL", "VECLIB", "NUMEXPR")


def rerun(
    place: Place, study: Study, study_file: Path, stages: Sequence[str], steps: int | None, out: Path
) -> Iterator[tuple[str, float]]:
    """Run stages of a cell, and yield each with the seconds it took, when it has ended.

    A stage reads the rerun's files if they were made again, otherwise the stored ones. A training stops after `steps`
    optimiser steps, if given. `out` is laid out as a study's folder. If a stage fails, the error says why, by its log.
    """
    again = replace(place, results=out)
    for stage in stages:
        started = time.perf_counter()
        log = out / f"{stage}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        arguments = _arguments(stage, place, again, stages)
        threads = study.evaluation.threads if stage == "generate" else 1
        if stage == "train":
            arguments += _training_options(place, study, steps, out)
            threads = study.training.threads * processes(study, place.cell.model)
        command = [*_command(stage, study, study_file, place), stage, "--study", str(study_file), *arguments]
        environment = os.environ | {f"{name}_NUM_THREADS": str(threads) for name in _THREADS}
        with log.open("wb") as file:
            done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False)
        if done.returncode:
            why = cause(log) or next(iter(last_lines(log)), "")
            raise UserError(f"{stage} of {place.files.folder} failed again, status {done.returncode}: {why}")
        yield stage, time.perf_counter() - started


def _command(stage: str, study: Study, study_file: Path, place: Place) -> list[str]:
    """The words before a stage's name in its rule: a lease if it may hold GPUs, a training's launcher."""
    ict = [sys.executable, "-m", "ict_core"]
    if stage not in ("train", "generate"):
        return ict
    lease = [*ict, "lease", "--gpus", str(gpus(study, stage, place.cell.model)), "--"]
    launcher = launch(study_file, study, place.cell.model) if stage == "train" else ["ict"]
    return [*lease, *(ict if launcher == ["ict"] else launcher)]


def _training_options(place: Place, study: Study, steps: int | None, out: Path) -> Iterator[str]:
    """The options of a training that hang on the study."""
    files = StudyFiles(place.results)
    yield from ("--problems", str(study.training_problems(files, place.cell)))
    if study.is_tuned(place.cell):
        yield from ("--rate", str(study.rate_file(files, place.cell)))
    if steps is not None:
        yield from ("--stop-after", str(steps))
    if LEARNING_CURVE in study.recorded(place.cell):
        yield from ("--held-out", str(files.eval_problems))
    if study.trackers:
        yield from ("--trackers", str(StudyFiles(out).trackers(place.cell.folder)))


def _arguments(stage: str, place: Place, again: Place, stages: Sequence[str]) -> list[str]:
    """The options of a stage's command, as the workflow's rules give them."""
    model, variant, seed = place.cell
    cell = ["--model", model, "--variant", variant, "--seed", str(seed)]
    study, files = StudyFiles(place.results), again.files
    held_out = str(study.eval_problems)
    if stage == "pretrain":
        return ["--model", model, "--seed", str(seed), "--eval", held_out, "--out", str(again.base)]
    if stage == "train":
        return [*cell, "--base", str(place.base), "--out", str(again.trained)]
    if stage == "generate":
        checkpoint = (again if {"train", "pretrain"} & set(stages) else place).checkpoint
        out = ["--out", str(files.completions), "--manifest", str(files.generation)]
        return [*cell, "--checkpoint", str(checkpoint), "--problems", held_out, *out]
    completions = (again if "generate" in stages else place).files.completions
    out = ["--out", str(files.grades), "--manifest", str(files.grading)]
    return ["--completions", str(completions), "--problems", held_out, *out]
