"""Where every file of a study lies, and of the repository: the one place that names them, for library and workflow."""

import os
import re
from pathlib import Path

_LIBRARY = Path(__file__).resolve().parents[1]
REPOSITORY = _LIBRARY.parent if (_LIBRARY.parent / "configs").is_dir() else _LIBRARY
"""That the library belongs to; the library itself where it is installed as a wheel, which has `configs` inside."""
METHODS = REPOSITORY / "configs" / "methods"
CLAIMS = REPOSITORY / "configs" / "claims.yaml"
COMPLETIONS_CACHE = Path("results/cache/completions")  # of all studies of a repository
MANIFEST = "manifest.json"  # in the folder of what it describes
BASE_VARIANT = "base"  # of the untrained model: evaluated, never trained, and no method's name
FRAMES = (  # measured
    *("scores", "shared_rate_scores", "tuning", "log", "tokens", "compute"),
    *("shadow", "overlap", "contamination", "near_duplicates"),
)
LEARNING_CURVE = "learning_curve"  # measured too, where the study's file has this key
PAPER_FIGURES = ("figure-1", "figure-3", "figure-4", "figure-a-4-1")  # the paper's own, by its numbers
TOKEN_FRAMES = ("quantities", "quantity_means", "curves", "single_logit", "single_logit_bins")  # in statistics/
TOKEN_TABLES = ("token_rules", "token_classes", "token_texts")  # of a token study
TOKEN_FIGURES = ("token_rules", "token_overlap", "token_single_logit")
TABLE_KINDS = ("csv", "md", "tex")
FIGURE_KINDS = ("pdf", "png")
NAME = r"^[a-z0-9][a-z0-9._-]{0,39}$"
NAMED = "a name that can be a folder: a-z, 0-9, '.', '-' and '_', at most 40 characters"
RESERVED = {  # folders of `results` that are the project's own, and whose
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
    file, here = REPOSITORY / "configs" / "studies" / f"{given}.yaml", Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def allowed_instead(study: str) -> str | None:
    """What is allowed in place of a name that no study can have; None of one that a study can have. `make` asks it."""
    if study in RESERVED:
        own = ", ".join(RESERVED)
        return f"any name but {own}, the project's own folders in results (here: {RESERVED[study]})"
    return None if re.fullmatch(NAME, study) else NAMED


def repository(file: Path) -> Path:
    """The folder at which the relative paths of a file of `configs/<kind>/` start, and in which they stay."""
    return Path(os.path.realpath(file)).parent.parent.parent


def study_folder(name: str) -> Path:
    """A study's folder, from that of the repository."""
    return Path("results", name)


def stored_folder(name: str) -> Path:
    """The folder of a study that the repository stores, from that of the repository."""
    return Path("results", "reference", name)


def cells_folder(name: str) -> Path:
    """The folder of a study's finished cells that are stored each on its own, from that of the repository."""
    return Path("results", "cells", name)


def cell_folder(model: str, variant: str, seed: int | str) -> str:
    """A cell's folder, from that of the study."""
    return f"{model}/{variant}/{_SEED}{seed}"


def base_number(seed: int, kind: str) -> int:
    """The number (its cell's seed) of the base model with which trainings of a seed begin, by the kind of the model.

    A model that is generated has one a seed, one from elsewhere is the same for all.
    """
    return seed if kind == "pretrained-from-scratch" else 0


def seed_of(folder: Path) -> int | None:
    """The seed in the name of a cell's folder; None where it is not the name of one."""
    number = folder.name.removeprefix(_SEED)
    return int(number) if folder.name.startswith(_SEED) and number.isdecimal() else None


def trained_model(train: Path) -> Path:
    """The checkpoint in a training's folder."""
    return train / "model"


def checkpoints_folder(train: Path) -> Path:
    """The folder, beside that of a training, of its checkpoints while it is under way."""
    return train.with_name(train.name + ".checkpoints")


class CellFiles:
    """The files of a cell, or of an untrained model's answers, in ``<study>/<model>/<variant>/seed-<n>``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.train = folder / "train"  # what the training wrote, as a whole: model, three frames, manifest
        self.model = trained_model(self.train)
        self.completions = folder / "completions.parquet"  # records.COMPLETIONS
        self.generation = folder / "generation.json"  # the manifest of the completions
        self.grades = folder / "grades.parquet"  # records.GRADES
        self.grading = folder / "grading.json"  # the manifest of the grades
        self.token_page = folder / "tokens.html"  # of `ict tokens`; no job writes it
        self.rollouts_page = folder / "rollouts.html"  # of `ict browse`, likewise


class TrainFiles:
    """The frames of a training, in the folder that it writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log.parquet"  # records.LOG, a row a step
        self.timing = folder / "timing.parquet"  # records.TIMING, the wall time of each step
        self.tokens = folder / "tokens.parquet"  # records.TOKENS, the token sample
        self.learning_curve = folder / "learning_curve.parquet"  # records.LEARNING_CURVE, where the study has one
        self.rollouts = folder / "rollouts"  # a folder of records.KEPT_ROLLOUTS, a file a batch, where they are kept


class StoredCellFiles:
    """The files of a finished cell stored on its own, in ``results/cells/<study>/<model>/<variant>/seed-<n>``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = folder / "cell.json"  # its jobs' manifests, its frames' hashes, the runs that gave them

    def frame(self, name: str) -> Path:
        """``scores``, ``log``, ``tokens`` or ``learning_curve``: where it has such a one."""
        return self.folder / f"{name}.parquet"


class StudyFiles:
    """The files of a study, in its folder ``results/<study>``, or in one of stored files."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.train_problems = results / "data" / "train.parquet"  # records.PROBLEMS to train on
        self.eval_problems = results / "data" / "eval.parquet"  # records.PROBLEMS of all benchmarks
        self.solutions = results / "data" / "solutions.parquet"  # records.SOLUTIONS, where a model begins with them
        self.settings = results / "study.json"  # the whole configuration, as the evidence reads it
        self.manifest = results / MANIFEST  # the manifests of all jobs, what they share written once
        self.measured = [self.settings, self.manifest, *map(self.frame, FRAMES)]  # what all evidence is made from
        self.tables, self.figures, self.logs = results / "tables", results / "figures", results / "logs"  # folders
        self.rates = results / "rates.json"  # the learning rates that a study chose, for others, and by what:
        self.rewards = results / "rewards.parquet"  # records.REWARDS
        self.claims = results / "claims.json"  # the verdicts on the ledger's claims, and a page of them:
        self.claims_text = results / "claims.md"
        self.notebook = results / "paper_figures.ipynb"  # executed
        self.report, self.overview = results / "report.md", results / "overview.html"
        self.answer = results / "answer.md"  # the overview's first lines
        self.paper = results / "paper"  # a folder: the paper's figures by its numbers, and a page of them
        self.paper_page = self.paper / "paper.md"
        drawn = [self.paper / f"{name}.{kind}" for name in PAPER_FIGURES for kind in FIGURE_KINDS]
        self.paper_files = [self.paper_page, *drawn]
        self.token_texts = results / "token_texts.parquet"  # records.TOKEN_TEXTS, in the folder of `token_study`
        self.flips, self.changes = results / "flips.csv", results / "changes.csv"  # where regraded

    @property
    def regraded(self) -> "StudyFiles":
        """The files of the study under a later grader."""
        return StudyFiles(self.results / "regrade")

    def base_model(self, model: str, number: int | str = 0) -> Path:
        """A base checkpoint; the number is its cell's seed."""
        return self.results / cell_folder(model, BASE_VARIANT, number) / "model"

    def within_reach(self, model: str, number: int | str = 0) -> Path:
        """The training problems within a base model's reach, ``records.PROBLEMS``."""
        return self.base_model(model, number).with_name("within_reach.parquet")

    def fetched_model(self, model: str) -> Path:
        """The checkpoint as it was fetched, of a model that has a supervised start."""
        return self.results / model / BASE_VARIANT / "fetched"

    def chosen_rate(self, model: str, variant: str, number: int | str = "") -> Path:
        """The learning rate that the study's tuning chose for a variant of a model, and what it was chosen by.

        With a number what a round before the last wrote.
        """
        return self.results / model / variant / (f"rate-{number}.json" if number else "rate.json")

    @property
    def rate_study(self) -> "StudyFiles":
        """The learning rates that the study chose, for others: `rates`, `rewards` and `manifest`."""
        return StudyFiles(self.results / "rates")

    @property
    def token_study(self) -> "StudyFiles":
        """The files of the study of the untrained models' tokens; what stands for a seed in its frames is a prompt."""
        return StudyFiles(self.results / "token_study")

    def rollouts(self, model: str, variant: str = BASE_VARIANT, seed: int | str = 0) -> Path:
        """``records.ROLLOUTS`` of a base model, or of a trained one, for the study of its tokens."""
        return self.results / cell_folder(model, variant, seed) / "rollouts.parquet"

    def rollout_tokens(self, model: str) -> Path:
        """``records.TOKENS`` of these rollouts."""
        return self.rollouts(model).with_name("rollout_tokens.parquet")

    def rollout_gradients(self, model: str) -> Path:
        """``records.GRADIENT_SHARES`` of some of their prompts."""
        return self.rollouts(model).with_name("rollout_gradients.parquet")

    def readings(self, model: str, variant: str, seed: int | str) -> Path:
        """``records.READINGS`` of the distributions at the tokens of these."""
        return self.rollouts(model, variant, seed).with_name("readings.parquet")

    @property
    def reading_pages(self) -> list[Path]:
        """What shows the readings of all of them: `records.STUDY_READINGS`, a manifest, a table and a figure."""
        files = StudyFiles(self.results / "readings")
        table = [files.table("readings", kind) for kind in TABLE_KINDS]
        figure = [files.figure("readings", kind) for kind in FIGURE_KINDS]
        return [files.results / "readings.parquet", files.manifest, *table, *figure]

    @property
    def token_pages(self) -> list[Path]:
        """What is shown, in the folder of :attr:`token_study`."""
        tables = [self.table(name, kind) for name in TOKEN_TABLES for kind in TABLE_KINDS]
        figures = [self.figure(name, kind) for name in TOKEN_FIGURES for kind in FIGURE_KINDS]
        return [self.claims, self.report, self.overview, *tables, *figures]

    def cell(self, folder: str) -> CellFiles:
        """The files of the cell of that :func:`cell_folder`."""
        return CellFiles(self.results / folder)

    def trackers(self, folder: str) -> Path:
        """What the study's trackers write of a cell."""
        return self.results / "trackers" / folder

    def log_of(self, rule: str, part: str = "") -> Path:
        """What a job of a rule prints; the part names the job where there are several."""
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
