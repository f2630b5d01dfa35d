"""The paths of all files of a study and of the repository: the one place that names them, for library and workflow."""

import os
import re
from pathlib import Path

_LIBRARY = Path(__file__).resolve().parents[1]
REPOSITORY = _LIBRARY.parent if (_LIBRARY.parent / "configs").is_dir() else _LIBRARY
"""The repository of the library; the library itself if it is installed as a wheel, which has `configs` inside."""
METHODS = REPOSITORY / "configs" / "methods"
CLAIMS = REPOSITORY / "configs" / "claims.yaml"
COMPLETIONS_CACHE = Path("results/cache/completions")  # shared by all studies of a repository
MANIFEST = "manifest.json"  # in the folder that it describes
BASE_VARIANT = "base"  # the untrained model: evaluated, never trained, and no method's name
FRAMES = (  # the measured frames
    *("scores", "shared_rate_scores", "tuning", "log", "tokens", "compute"),
    *("shadow", "overlap", "contamination", "near_duplicates"),
)
LEARNING_CURVE = "learning_curve"  # measured too, if the study's file has this key
PAPER_FIGURES = ("figure-1", "figure-3", "figure-4", "figure-a-4-1")  # the paper's own figures, by its numbers
TOKEN_FRAMES = ("quantities", "quantity_means", "curves", "single_logit", "single_logit_bins")  # in statistics/
TOKEN_TABLES = ("token_rules", "token_classes", "token_texts")  # of a token study
TOKEN_FIGURES = ("token_rules", "token_overlap", "token_single_logit")
TABLE_KINDS = ("csv", "md", "tex")
FIGURE_KINDS = ("pdf", "png")
NAME = r"^[a-z0-9][a-z0-9._-]{0,39}$"
NAMED = "a name that can be a folder: a-z, 0-9, '.', '-' and '_', at most 40 characters"
RESERVED = {  # the project's own folders in `results`, and what they hold
    "reference": "stored runs",
    "cells": "stored cells",
    "cache": "answers of all studies",
    "rebuilt": "pages that `make figures` and `make tokens` make from stored runs",
    "uninterrupted": "runs that `make survive` compares with",
}
_SEED = "seed-"


def study_file(given: str) -> Path:
    """A study's file: a path from the working directory, or ``NAME`` for the repository's configs/studies/NAME.yaml."""
    if "/" in given or given.endswith((".yaml", ".yml")):
        return Path(given)
    file, cwd = REPOSITORY / "configs" / "studies" / f"{given}.yaml", Path.cwd()
    return file.relative_to(cwd) if file.is_relative_to(cwd) else file


def allowed_instead(study: str) -> str | None:
    """In words, what names are allowed instead of one that no study can have; None if a study can. `make` calls it."""
    if study in RESERVED:
        reserved = ", ".join(RESERVED)
        return f"any name but {reserved}, the project's own folders in results (here: {RESERVED[study]})"
    return None if re.fullmatch(NAME, study) else NAMED


def repository(file: Path) -> Path:
    """The folder from which the relative paths in a file of `configs/<kind>/` start, and which they do not leave."""
    return Path(os.path.realpath(file)).parent.parent.parent


def study_folder(name: str) -> Path:
    """A study's folder, relative to the repository's."""
    return Path("results", name)


def stored_folder(name: str) -> Path:
    """The folder of a study that the repository stores, relative to the repository's."""
    return Path("results", "reference", name)


def cells_folder(name: str) -> Path:
    """The folder of a study's finished cells that are stored each on its own, relative to the repository's."""
    return Path("results", "cells", name)


def cell_folder(model: str, variant: str, seed: int | str) -> str:
    """A cell's folder, relative to the study's."""
    return f"{model}/{variant}/{_SEED}{seed}"


def base_number(seed: int, kind: str) -> int:
    """The number (its cell's seed) of the base model from which trainings of a seed start, by the kind of the model.

    A model that is pretrained from scratch has one base model per seed; any other has the same one for all seeds.
    """
    return seed if kind == "pretrained-from-scratch" else 0


def seed_of(folder: Path) -> int | None:
    """The seed in the name of a cell's folder; None if a folder has another name."""
    number = folder.name.removeprefix(_SEED)
    return int(number) if folder.name.startswith(_SEED) and number.isdecimal() else None


def trained_model(train: Path) -> Path:
    """The checkpoint in a training's folder."""
    return train / "model"


def checkpoints_folder(train: Path) -> Path:
    """The folder of a training's checkpoints while it runs, beside the training's own folder."""
    return train.with_name(train.name + ".checkpoints")


class CellFiles:
    """The files of a cell, or of an untrained model's answers, in ``<study>/<model>/<variant>/seed-<n>``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.train = folder / "train"  # the output of the training: model, frames, manifest
        self.model = trained_model(self.train)
        self.completions = folder / "completions.parquet"  # records.COMPLETIONS
        self.generation = folder / "generation.json"  # the manifest of the completions
        self.grades = folder / "grades.parquet"  # records.GRADES
        self.grading = folder / "grading.json"  # the manifest of the grades
        self.token_page = folder / "tokens.html"  # written by `ict tokens`, not by a job
        self.rollouts_page = folder / "rollouts.html"  # written by `ict browse`, not by a job


class TrainFiles:
    """The frames of a training, in the folder that it writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log.parquet"  # records.LOG, a row per step
        self.timing = folder / "timing.parquet"  # records.TIMING, the wall time of each step
        self.tokens = folder / "tokens.parquet"  # records.TOKENS, the token sample
        self.learning_curve = folder / "learning_curve.parquet"  # records.LEARNING_CURVE, if the study has one
        self.rollouts = folder / "rollouts"  # a folder of records.KEPT_ROLLOUTS, a file per batch, if they are kept


class StoredCellFiles:
    """The files of a finished cell stored on its own, in ``results/cells/<study>/<model>/<variant>/seed-<n>``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = folder / "cell.json"  # its jobs' manifests, its frames' hashes, the runs that gave them

    def frame(self, name: str) -> Path:
        """The file of ``scores``, ``log``, ``tokens`` or ``learning_curve``; the cell need not have it."""
        return self.folder / f"{name}.parquet"


class StudyFiles:
    """The files of a study, in its folder ``results/<study>``, or in a folder of stored files."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.train_problems = results / "data" / "train.parquet"  # records.PROBLEMS to train on
        self.eval_problems = results / "data" / "eval.parquet"  # records.PROBLEMS of all benchmarks
        self.solutions = results / "data" / "solutions.parquet"  # records.SOLUTIONS, if a model starts from them
        self.settings = results / "study.json"  # the whole configuration, as the evidence reads it
        self.manifest = results / MANIFEST  # the manifests of all jobs; shared parts are written once
        self.measured = [self.settings, self.manifest, *map(self.frame, FRAMES)]  # what all evidence is made from
        self.tables, self.figures, self.logs = results / "tables", results / "figures", results / "logs"  # folders
        self.rates = results / "rates.json"  # the learning rates that a study chose, for other studies
        self.rewards = results / "rewards.parquet"  # records.REWARDS, by which they were chosen
        self.claims = results / "claims.json"  # the verdicts on the ledger's claims
        self.claims_text = results / "claims.md"  # a page of these verdicts
        self.notebook = results / "paper_figures.ipynb"  # executed
        self.report, self.overview = results / "report.md", results / "overview.html"
        self.answer = results / "answer.md"  # the overview's first lines
        self.paper = results / "paper"  # a folder of the paper's figures, by its numbers, and a page of them
        self.paper_page = self.paper / "paper.md"
        figures = [self.paper / f"{name}.{kind}" for name in PAPER_FIGURES for kind in FIGURE_KINDS]
        self.paper_files = [self.paper_page, *figures]
        self.token_texts = results / "token_texts.parquet"  # records.TOKEN_TEXTS, in the folder of `token_study`
        self.flips, self.changes = results / "flips.csv", results / "changes.csv"  # if regraded

    @property
    def regraded(self) -> "StudyFiles":
        """The files of the study under a later grader."""
        return StudyFiles(self.results / "regrade")

    def base_model(self, model: str, number: int | str = 0) -> Path:
        """A base model's checkpoint; `number` is its cell's seed."""
        return self.results / cell_folder(model, BASE_VARIANT, number) / "model"

    def within_reach(self, model: str, number: int | str = 0) -> Path:
        """The training problems within a base model's reach, ``records.PROBLEMS``."""
        return self.base_model(model, number).with_name("within_reach.parquet")

    def fetched_model(self, model: str) -> Path:
        """The checkpoint as fetched, for a model that has a supervised start."""
        return self.results / model / BASE_VARIANT / "fetched"

    def chosen_rate(self, model: str, variant: str, number: int | str = "") -> Path:
        """The learning rate that the study's tuning chose for a variant of a model, and the rewards behind it.

        With a number, the file of that earlier round of the tuning.
        """
        return self.results / model / variant / (f"rate-{number}.json" if number else "rate.json")

    @property
    def rate_study(self) -> "StudyFiles":
        """The learning rates that the study chose, for other studies: `rates`, `rewards` and `manifest`."""
        return StudyFiles(self.results / "rates")

    @property
    def token_study(self) -> "StudyFiles":
        """The files of the study of the untrained models' tokens; in its frames, prompts take the place of seeds."""
        return StudyFiles(self.results / "token_study")

    def rollouts(self, model: str, variant: str = BASE_VARIANT, seed: int | str = 0) -> Path:
        """``records.ROLLOUTS`` of a base model, or of a trained one, for the study of its tokens."""
        return self.results / cell_folder(model, variant, seed) / "rollouts.parquet"

    def rollout_tokens(self, model: str) -> Path:
        """``records.TOKENS`` of these rollouts."""
        return self.rollouts(model).with_name("rollout_tokens.parquet")

    def rollout_gradients(self, model: str) -> Path:
        """``records.GRADIENT_SHARES`` of some prompts of these rollouts."""
        return self.rollouts(model).with_name("rollout_gradients.parquet")

    def readings(self, model: str, variant: str, seed: int | str) -> Path:
        """``records.READINGS`` of the distributions at the tokens of a cell's rollouts."""
        return self.rollouts(model, variant, seed).with_name("readings.parquet")

    @property
    def reading_pages(self) -> list[Path]:
        """The files with all cells' readings: `records.STUDY_READINGS`, a manifest, a table and a figure."""
        files = StudyFiles(self.results / "readings")
        table = [files.table("readings", kind) for kind in TABLE_KINDS]
        figure = [files.figure("readings", kind) for kind in FIGURE_KINDS]
        return [files.results / "readings.parquet", files.manifest, *table, *figure]

    @property
    def token_pages(self) -> list[Path]:
        """The pages, tables and figures in the folder of :attr:`token_study`."""
        tables = [self.table(name, kind) for name in TOKEN_TABLES for kind in TABLE_KINDS]
        figures = [self.figure(name, kind) for name in TOKEN_FIGURES for kind in FIGURE_KINDS]
        return [self.claims, self.report, self.overview, *tables, *figures]

    def cell(self, folder: str) -> CellFiles:
        """The files of the cell with this :func:`cell_folder`."""
        return CellFiles(self.results / folder)

    def trackers(self, folder: str) -> Path:
        """The folder into which the study's trackers write for a cell."""
        return self.results / "trackers" / folder

    def log_of(self, rule: str, part: str = "") -> Path:
        """The log of a rule's job; `part` names the job if the rule has several."""
        return self.logs / rule / f"{part}.log" if part else self.logs / f"{rule}.log"

    def frame(self, name: str) -> Path:
        """A measured frame, one of :data:`FRAMES`, or :data:`LEARNING_CURVE`."""
        return self.results / f"{'train_log' if name == 'log' else name}.parquet"

    def statistics(self, name: str) -> Path:
        """A frame of :data:`ict_core.statistics.schemas.STATISTICS`."""
        return self.results / "statistics" / f"{name}.parquet"

    def table(self, name: str, kind: str) -> Path:
        """A table's file of one of the :data:`TABLE_KINDS`."""
        return self.tables / f"{name}.{kind}"

    def figure(self, name: str, kind: str) -> Path:
        """A figure's file of one of the :data:`FIGURE_KINDS`."""
        return self.figures / f"{name}.{kind}"
