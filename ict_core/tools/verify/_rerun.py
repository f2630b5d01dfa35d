"""The stages of one cell again, each by its own command in a process of its own, into another folder."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ict_core.config import Study
from ict_core.errors import UserError
from ict_core.jobs import cause, last_line
from ict_core.jobs.launch import gpus, launch, processes
from ict_core.store import StudyFiles
from ict_core.tools.verify._cell import Place

# what Snakemake sets of every job: linear algebra sums in another order with another number of threads
_THREADS = ("OMP", "GOTO", "OPENBLAS", "MKL", "VECLIB", "NUMEXPR")


def rerun(
    place: Place, study: Study, study_file: Path, stages: Sequence[str], steps: int | None, out: Path
) -> Iterator[tuple[str, float]]:
    """Run stages of a cell; what a stage reads is the rerun's where it was rerun, else the stored.

    Args:
        steps: optimiser steps to train; None for all.
        out: laid out as a study's folder; each stage's output goes where its path in the study would be.

    Yields:
        Each stage and the seconds it took, when it has ended.

    Raises:
        UserError: a stage failed; the message has its log's last line.
    """
    again = Place(out, place.cell)
    for stage in stages:
        started = time.perf_counter()
        log = out / f"{stage}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        arguments = _arguments(stage, place, again, study_file, stages)
        if stage == "train" and steps is not None:
            arguments += ["--stop-after", str(steps)]
        if stage == "train" and study.trackers:
            arguments += ["--trackers", str(StudyFiles(out).trackers(place.cell.folder))]
        command = [*_command(stage, study, study_file, place), stage, "--study", str(study_file), *arguments]
        threads = str(_threads(stage, study, place))
        environment = os.environ | {f"{name}_NUM_THREADS": threads for name in _THREADS}
        with log.open("wb") as file:
            done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False)
        if done.returncode:
            why = cause(log) or last_line(log)
            raise UserError(f"{stage} of {place.files.folder} failed again, status {done.returncode}: {why}")
        yield stage, time.perf_counter() - started


def _command(stage: str, study: Study, study_file: Path, place: Place) -> list[str]:
    """What stands before a stage's name in its rule: a lease where it may hold GPUs, a training's launcher."""
    ict = [sys.executable, "-m", "ict_core"]
    if stage not in ("train", "generate"):
        return ict
    lease = [*ict, "lease", "--gpus", str(gpus(study, stage, place.cell.model)), "--"]
    launcher = launch(study_file, study, place.cell.model).split() if stage == "train" else ["ict"]
    return [*lease, *(ict if launcher == ["ict"] else launcher)]


def _threads(stage: str, study: Study, place: Place) -> int:
    if stage == "train":
        return study.training.threads * processes(study, place.cell.model)
    return study.evaluation.threads if stage == "generate" else 1


def _arguments(stage: str, place: Place, again: Place, study_file: Path, stages: Sequence[str]) -> list[str]:
    """The options of a stage's command, as the workflow's rules give them."""
    model, variant, seed = place.cell
    cell = ["--model", model, "--variant", variant, "--seed", str(seed)]
    study, files = StudyFiles(place.results), again.files
    train, held_out = str(study.train_problems), str(study.eval_problems)
    if stage == "pretrain":
        return ["--model", model, "--eval", held_out, "--out", str(again.base)]
    if stage == "train":
        return [*cell, "--base", str(place.base), "--problems", train, "--out", str(again.trained)]
    if stage == "generate":
        checkpoint = (again if {"train", "pretrain"} & set(stages) else place).checkpoint
        out = ["--out", str(files.completions), "--manifest", str(files.generation)]
        return [*cell, "--checkpoint", str(checkpoint), "--problems", held_out, *out]
    completions = (again if "generate" in stages else place).files.completions
    out = ["--out", str(files.grades), "--manifest", str(files.grading)]
    return ["--completions", str(completions), "--problems", held_out, *out]
