"""The training of one cell."""

from pathlib import Path

from ict_core.config import Cell, Study
from ict_core.store import check_files, records, remember_source
from ict_core.training import Tracking, TrainingRun, train_run


def run(
    study: Study, cell: Cell, base: Path, problems: Path, out: Path, trackers: Path | None, stop_after: int | None
) -> None:
    """Train a cell from a base checkpoint; `out` receives what :func:`ict_core.training.train_run` writes.

    `trackers` is a folder for what the study's trackers write; the training may `stop_after` so many optimiser steps.
    """
    remember_source()
    check_files(base)
    training_run = TrainingRun(
        base=base,
        problems=records.read_frame(problems, records.PROBLEMS),
        model=study.models[cell.model],
        training=study.training_of(cell.model, cell.variant),
        method=study.methods[cell.variant],
        seed=study.training_seed(cell),
        known_forks=not study.train_sets,
        tracking=Tracking(study.trackers, trackers, study.name, cell.folder) if trackers else None,
    )
    train_run(training_run, study.grading.dump(), study.resolve(cell), out, stop_after)
