"""The subcommands of the stages that a study runs, from its problems to the report.

A stage's module is imported inside its subcommand, once the study's numerics are set, so that each starts with only
what it needs.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from ict_core import config, process
from ict_core.commands.app import (
    Given,
    HeldOut,
    MaybeCells,
    Name,
    OneCell,
    Results,
    Stored,
    StudyFile,
    command,
)
from ict_core.errors import UserError
from ict_core.process import loading, numerics
from ict_core.store import CLAIMS


def load_study(path: Path) -> "config.Study":
    """`config.load_study`, imported by the commands that read a study."""
    return config.load_study(path)


def study_to_run(path: Path) -> "config.Study":
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


def repository(study: Path) -> Path:
    """The folder at which the configuration's relative paths start."""
    from ict_core.config import mistakes

    return mistakes.repository(study)


@command("data", writes="held_out")
def data(study: StudyFile, train: Given, held_out: HeldOut) -> None:
    """Make the training and evaluation problems."""
    loaded = study_to_run(study)
    from ict_core.stages import data

    data.run(loaded, _mirror(loaded, study), train, held_out)


@command("contamination", writes="counts")
def contamination(study: StudyFile, train: Given, held_out: HeldOut, counts: Given, pairs: Given) -> None:
    """Compare the evaluation sets with the training data."""
    loaded = study_to_run(study)
    from ict_core.stages import contamination

    contamination.run(loaded, train, held_out, counts, pairs)


def _mirror(loaded: "config.Study", file: Path) -> Path | None:
    return repository(file) / loaded.data.mirror if loaded.data.mirror else None


@command("fetch-model")
def fetch_model(study: StudyFile, model: Name, out: Given) -> None:
    """Fetch and check a base model."""
    loaded = study_to_run(study)
    _check_model(loaded, study, model)
    with loading():
        from ict_core.stages import fetch_model

    fetch_model.run(loaded, model, repository(study), _mirror(loaded, study), out)


@command("solutions")
def solutions(study: StudyFile, out: Given) -> None:
    """Read the worked solutions of the training problems."""
    loaded = study_to_run(study)
    from ict_core.stages import solutions as stage

    stage.run(loaded, _mirror(loaded, study), out)


@command("supervised-start")
def supervised_start(study: StudyFile, model: Name, checkpoint: Given, solutions: Given, out: Given) -> None:
    """Train a fetched checkpoint on worked solutions, as its model's file says."""
    loaded = _study_of_model(study, model)
    with loading():
        from ict_core.stages import supervised_start as stage

    stage.run(loaded, model, checkpoint, solutions, out)


@command("within-reach")
def within_reach(
    study: StudyFile,
    model: Name,
    checkpoint: Given,
    problems: Given,
    cache: Given,
    out: Given,
    seed: Annotated[int, Option(help="the number of the base model, where there are several")] = 0,
) -> None:
    """Choose the training problems that a base model answers right at times."""
    loaded = _study_of_model(study, model)
    from ict_core.stages import within_reach as stage

    stage.run(loaded, config.Cell(model, config.BASE_VARIANT, seed), checkpoint, problems, cache, out)


UNUSED_IN_PRETRAINING = ("scipy",)  # which transformers imports wherever it is installed


@command("pretrain")
def pretrain(
    study: StudyFile,
    model: Name,
    held_out: HeldOut,
    out: Given,
    seed: Annotated[int, Option(help="the number of the base model, where there are several")] = 0,
) -> None:
    """Pretrain a base model."""
    loaded = _study_of_model(study, model)
    with loading(without=UNUSED_IN_PRETRAINING):
        from ict_core.stages import pretrain

    pretrain.run(loaded, config.Cell(model, config.BASE_VARIANT, seed), held_out, out)


@dataclass(frozen=True)
class TrainingInputs:
    """The files that a training begins with."""

    base: Given
    problems: Given
    rate: Annotated[Path | None, Option(help="rate.json of the cell's variant, where the study tunes it")] = None
    twin: Annotated[
        Path | None, Option(help="the training at the recipe's rate, taken over if that is chosen (default: train)")
    ] = None


@command("train")
def train(
    cell: OneCell,
    inputs: TrainingInputs,
    out: Given,
    stop_after: Annotated[
        int | None, Option(help="optimiser steps, for `ict verify` (default: the recipe's steps)")
    ] = None,
    trackers: Annotated[Path | None, Option(help="a folder for the files of the trackers that the study names")] = None,
) -> None:
    """Train one cell."""
    loaded = study_to_run(cell.study)
    prepare()
    chosen = cell.of(loaded, trained=True)
    process.check_trackers(loaded.trackers)
    if loaded.trackers and trackers is None:
        raise UserError(f"{cell.study}: trackers: {', '.join(loaded.trackers)} need a folder; give --trackers FOLDER")
    with loading(without=unused_in_training(loaded.training_of(chosen.model, chosen.variant))):
        from ict_core.stages import train

    files = train.Inputs(**vars(inputs))
    train.run(loaded, chosen, files, out, trackers if loaded.trackers else None, stop_after)


@command("tune")
def tune(
    study: StudyFile,
    model: Name,
    variant: Name,
    results: Results,
    out: Given,
    cells: MaybeCells = None,
    before: Annotated[Path | None, Option(help="what the round before wrote (default: this is the first)")] = None,
) -> None:
    """Choose the learning rate of a variant."""
    loaded = study_to_run(study)
    from ict_core.stages import tune

    tune.run(loaded, model, variant, results, cells, before, out)


@command("rates")
def rates(study: StudyFile, results: Results, cells: MaybeCells = None) -> None:
    """Gather the learning rates that a study chose, for other studies (`rates_of`)."""
    loaded = study_to_run(study)
    from ict_core.stages import rates

    rates.run(loaded, results, cells)


def unused_in_training(training: "config.Training") -> tuple[str, ...]:
    """Packages that transformers and TRL import wherever they are installed, and that this recipe has no use for."""
    return (*(() if training.lora else ("peft",)), *(() if training.rollouts else ("scipy",)))  # vLLM needs scipy


@command("generate")
def generate(
    cell: OneCell,
    checkpoint: Given,
    problems: Given,
    out: Given,
    manifest: Given,
    cache: Annotated[Path | None, Option(help="a folder: what is there is not sampled again (default: none)")] = None,
) -> None:
    """Sample a cell's completions."""
    loaded = study_to_run(cell.study)
    prepare()
    chosen = cell.of(loaded)
    from ict_core.stages import generate

    generate.run(loaded, chosen, checkpoint, problems, cache, out, manifest)


@command("grade")
def grade(
    study: StudyFile,
    completions: Given,
    problems: Given,
    out: Given,
    manifest: Given,
    workers: Annotated[int, Option(help="processes of the grader")] = 1,
) -> None:
    """Grade a cell's completions."""
    loaded = study_to_run(study)
    prepare()
    from ict_core.stages import grade

    grade.run(loaded, completions, problems, workers, out, manifest)


@command("settings")
def settings(study: StudyFile, out: Given) -> None:
    """Write the settings that the evidence is read by."""
    from ict_core.store import write_manifest

    write_manifest(out, load_study(study).stage_config("evidence"))


@command("collect", writes="results")
def collect(study: StudyFile, results: Results, cells: MaybeCells = None) -> None:
    """Gather what all cells left into the study's files."""
    loaded = study_to_run(study)
    from ict_core.evidence import NONE, collect, counted

    collect(results, loaded, counted(loaded, cells) if cells else NONE, declaring=(CLAIMS, study))


@command("shadow-study", writes="shadow")
def shadow_study(study: StudyFile, tokens: Given, shadow: Given, overlap: Given) -> None:
    """Score every rule of a study on the tokens sampled from all its cells."""
    loaded = study_to_run(study)
    from ict_core.stages import shadow as stage

    stage.run(loaded, tokens, shadow, overlap)


@command("rollouts")
def rollouts(study: StudyFile, model: Name, checkpoint: Given, problems: Given, cache: Given, out: Given) -> None:
    """Sample and grade an untrained model's answers, with their tokens."""
    loaded = _study_of_model(study, model)
    from ict_core.stages import rollouts as stage

    stage.run(loaded, model, checkpoint, problems, cache, out)


@command("read-tokens")
def read_tokens(study: StudyFile, model: Name, checkpoint: Given, problems: Given, rollouts: Given, out: Given) -> None:
    """Read every token of an untrained model's answers: entropies and all scores."""
    loaded = _study_of_model(study, model)
    from ict_core.stages import read_tokens as stage

    stage.run(loaded, model, checkpoint, problems, rollouts, out)


@command("token-gradients")
def token_gradients(
    study: StudyFile, model: Name, checkpoint: Given, problems: Given, rollouts: Given, tokens: Given, out: Given
) -> None:
    """Take the gradient that each rule's tokens carry, on some prompts of an untrained model."""
    loaded = _study_of_model(study, model)
    from ict_core.stages import token_gradients as stage

    stage.run(loaded, model, checkpoint, problems, (rollouts, tokens), out)


@command("token-frames", writes="results")
def token_frames(study: StudyFile, results: Results) -> None:
    """Say what every rule makes of the untrained models' tokens, prompt by prompt."""
    loaded = study_to_run(study)
    prepare()
    from ict_core.stages import token_frames as stage

    stage.run(loaded, results)


@command("token-pages", portable=True, writes="results")
def token_pages(stored: Stored, results: Results, claims: Given) -> None:
    """Make the tables, figures, claims and page of a token study."""
    from ict_core.stages import token_pages as stage

    stage.run(stored, results, claims)


@command("regrade")
def regrade(
    study: StudyFile,
    results: Results,
    out: Given,
    stored: Annotated[bool, Option("--stored", help="write the study's stored files under the new grades too")] = False,
) -> None:
    """List the answers whose verdict flipped where a study's completions were graded anew."""
    loaded = study_to_run(study)
    from ict_core.stages import regrade

    regrade.run(loaded, results, out, stored)


# What is shown is made from stored files; these import neither torch nor vLLM.


@command("statistics", portable=True, writes="results")
def statistics(stored: Stored, results: Results, claims: Given) -> None:
    """Compute runs, levels, contrasts, components and what is said of tokens."""
    from ict_core.stages import statistics

    statistics.run(stored, results, claims)


@command("tables", portable=True, writes="results")
def tables(stored: Stored, results: Results, paper: Given) -> None:
    """Make every table."""
    from ict_core.stages import tables

    tables.run(stored, results, paper)


@command("figure", portable=True, writes="results")
def figure(stored: Stored, results: Results, name: Name) -> None:
    """Make one figure."""
    from ict_core.stages import figure

    figure.run(stored, results, name)


@command("paper-figures", portable=True, writes="results")
def paper_figures(stored: Stored, results: Results, paper: Given) -> None:
    """Make the paper's figures, by the paper's numbers."""
    from ict_core.stages import paper_figures as stage

    stage.run(stored, results, paper)


@command("claims", portable=True, writes="results")
def claims(stored: Stored, results: Results, claims: Given) -> None:
    """Test every claim of the ledger."""
    from ict_core.stages import claims as stage

    stage.run(stored, results, claims)


@command("notebook", portable=True, writes="results")
def notebook(stored: Stored, results: Results, notebook: Given) -> None:
    """Execute a notebook on the study."""
    from ict_core.report import execute

    execute(notebook, stored, results)


@command("report", portable=True, writes="results")
def report(stored: Stored, results: Results) -> None:
    """Write the overview, the report and the manifests' page."""
    from ict_core.report import write_report

    write_report(stored, results)


def _study_of_model(file: Path, model: str) -> "config.Study":
    """Read a study as :func:`study_to_run`, for a stage of one of its models that downloads nothing."""
    loaded = study_to_run(file)
    prepare()
    _check_model(loaded, file, model)
    return loaded


def _check_model(loaded: "config.Study", file: Path, model: str) -> None:
    """An error if the study has no such model."""
    if model not in loaded.models:
        raise UserError(f"{file}: no model {model}; allowed: {', '.join(loaded.models)}")
