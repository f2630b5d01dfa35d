"""The subcommands of the stages that a study runs, from its problems to the collected scores.

A stage's module is imported inside its subcommand, once the study's numerics are set, so that each starts with only
what it needs.
"""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ict_core.errors import UserError
from ict_core.process import numerics
from ict_core.process.startup import loading
from ict_core.store.repository import REPOSITORY

if TYPE_CHECKING:
    from ict_core.config import Cell, Study
    from ict_core.config.training import Training


def load_study(path: Path) -> "Study":
    """`config.load_study`, imported by the commands that read a study."""
    from ict_core import config

    return config.load_study(path)


def study_to_run(path: Path) -> "Study":
    """Read a study, and hold what is imported from here on to its numerics: before a stage imports anything else."""
    study = load_study(path)
    numerics.use(study.numerics)
    return study


def prepare() -> None:
    """Set what libraries read when they are imported; the stages that may download do not call this."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # transformers' too: the stages show their own progress
    os.environ["HF_HUB_OFFLINE"] = "1"


def check(options: argparse.Namespace) -> None:
    """Check the environment against its lock, and the study for mistakes and folders that are not there."""
    study = study_to_run(options.study)
    from ict_core.config.sources import check_sources
    from ict_core.process.environment import applicable_lock, check_environment, check_trackers

    check_environment(applicable_lock(REPOSITORY / "requirements"))
    check_trackers(study.trackers)
    root = repository(options)
    check_sources(study, root, root / "results" / study.name)
    print(f"{study.name}: {len(study.cells())} cells to train, {len(study.base_cells())} base model(s)")


def data(options: argparse.Namespace) -> None:
    """Make the training and evaluation problems."""
    study = study_to_run(options.study)
    from ict_core.stages import data

    data.run(study, _mirror(study, options), options.train, options.eval)


def contamination(options: argparse.Namespace) -> None:
    """Compare the evaluation sets with the training data."""
    study = study_to_run(options.study)
    from ict_core.stages import contamination

    contamination.run(study, options.train, options.eval, options.counts, options.pairs)


def repository(options: argparse.Namespace) -> Path:
    """The folder at which the configuration's relative paths start."""
    from ict_core.config.mistakes import repository as of_study

    return of_study(options.study)


def _mirror(study: "Study", options: argparse.Namespace) -> Path | None:
    return repository(options) / study.data.mirror if study.data.mirror else None


def fetch_model(options: argparse.Namespace) -> None:
    """Fetch and check a base model."""
    study = study_to_run(options.study)
    _check_model(study, options)
    with loading():
        from ict_core.stages import fetch_model

    fetch_model.run(study, options.model, repository(options), _mirror(study, options), options.out)


def pretrain(options: argparse.Namespace) -> None:
    """Pretrain a base model."""
    study = study_to_run(options.study)
    prepare()
    _check_model(study, options)
    with loading(without=("scipy",)):
        from ict_core.stages import pretrain

    pretrain.run(study, options.model, options.eval, options.out)


def train(options: argparse.Namespace) -> None:
    """Train one cell."""
    study = study_to_run(options.study)
    from ict_core.process.environment import check_trackers

    prepare()
    cell = _cell(study, options)
    check_trackers(study.trackers)
    if study.trackers and options.trackers is None:
        raise UserError(f"{options.study}: trackers: {', '.join(study.trackers)} need a folder; give --trackers FOLDER")
    with loading(without=_unused(study.training_of(cell.model, cell.variant))):
        from ict_core.stages import train

    trackers = options.trackers if study.trackers else None
    train.run(study, cell, options.base, options.problems, options.out, trackers, options.stop_after)


def _unused(training: "Training") -> tuple[str, ...]:
    """Packages that transformers and TRL import wherever they are installed, and that this recipe has no use for."""
    return (*(() if training.lora else ("peft",)), *(() if training.rollouts else ("scipy",)))  # vLLM needs scipy


def generate(options: argparse.Namespace) -> None:
    """Sample a cell's completions."""
    study = study_to_run(options.study)
    prepare()
    cell = _cell(study, options)
    from ict_core.stages import generate

    generate.run(study, cell, options.checkpoint, options.problems, options.cache, options.out, options.manifest)


def completion_probe(options: argparse.Namespace) -> None:
    """Ask a base model for the rest of partial questions."""
    study = study_to_run(options.study)
    prepare()
    _check_model(study, options)
    from ict_core.stages import completion_probe

    completion_probe.run(study, options.model, options.checkpoint, options.problems, options.out)


def completion_table(options: argparse.Namespace) -> None:
    """Write the table of all models' completion probes."""
    study = study_to_run(options.study)
    from ict_core.stages import completion_table

    completion_table.run(study, options.results)


def grade(options: argparse.Namespace) -> None:
    """Grade a cell's completions."""
    study = study_to_run(options.study)
    prepare()
    from ict_core.stages import grade

    grade.run(study, options.completions, options.problems, options.workers, options.out, options.manifest)


def settings(options: argparse.Namespace) -> None:
    """Write the settings that the evidence is read by."""
    from ict_core.store.provenance import write_manifest

    write_manifest(options.out, load_study(options.study).stage_config("evidence"))


def collect(options: argparse.Namespace) -> None:
    """Gather what all cells left into the study's files."""
    study = study_to_run(options.study)
    from ict_core.evidence.collect import collect

    collect(options.results, study.base_cells(), study.cells(), list(study.benchmarks))


def shadow_study(options: argparse.Namespace) -> None:
    """Score every rule of a study on the tokens sampled from all its cells."""
    study = study_to_run(options.study)
    from ict_core.stages import shadow

    shadow.run(study, options.tokens, options.shadow, options.overlap)


def regrade(options: argparse.Namespace) -> None:
    """List the answers whose verdict flipped where a study's completions were graded anew."""
    study = study_to_run(options.study)
    from ict_core.stages import regrade

    regrade.run(study, options.results, options.out, options.stored)


def _check_model(study: "Study", options: argparse.Namespace) -> None:
    """An error if the study has no model of the name that the options give."""
    if options.model not in study.models:
        raise UserError(f"{options.study}: no model {options.model}; allowed: {', '.join(study.models)}")


def _cell(study: "Study", options: argparse.Namespace) -> "Cell":
    """The cell that the options name; an error if the study has no such cell."""
    from ict_core.config import Cell

    cell = Cell(options.model, options.variant, options.seed)
    known = study.evaluated_cells()
    if cell not in known:
        alike = [c for c in known if c.model == cell.model and c.variant == cell.variant]
        hint = f"its seeds there: {[c.seed for c in alike]}" if alike else "see the study's grid"
        raise UserError(f"{options.study}: no cell {cell.folder}; {hint}")
    return cell
