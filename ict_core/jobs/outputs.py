"""What a complete study consists of: every job with its files. The workflow's `all` asks for all of them."""

from collections.abc import Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ict_core.figures import FIGURES
from ict_core.statistics import STATISTICS
from ict_core.store import FIGURE_KINDS, TABLE_KINDS, StudyFiles
from ict_core.tables import TABLES

if TYPE_CHECKING:
    from ict_core.config import Cell, Study


COLLECTED = ("scores", "shared_rate_scores", "tuning", "log", "tokens", "compute")  # the frames of that stage


class Stage(NamedTuple):
    """A job."""

    name: str  # of the rule
    outputs: tuple[Path, ...]  # files and folders, each of which appears whole or not at all
    log: Path  # what the job prints


def base_job(results: Path, base: "Cell") -> Stage:
    """The job that makes a base model; which of three rules does, its log tells."""
    files = StudyFiles(results)
    of_checkpoints = ("supervised_start", "fetch_model")
    rule = next((rule for rule in of_checkpoints if files.log_of(rule, base.folder).exists()), "pretrain")
    return Stage(rule, (files.base_model(base.model, base.seed),), files.log_of(rule, base.folder))


def train_job(results: Path, cell: "Cell") -> Stage:
    """The job that trains a cell."""
    files = StudyFiles(results)
    return Stage("train", (files.cell(cell.folder).train,), files.log_of("train", cell.folder))


def tune_job(results: Path, model: str, variant: str) -> Stage:
    """The job that chooses a variant's learning rate."""
    files = StudyFiles(results)
    return Stage("tune", (files.chosen_rate(model, variant),), files.log_of("tune", f"{model}/{variant}"))


def cell_jobs(results: Path, cell: "Cell", base: bool) -> list[Stage]:
    """The jobs of one of a study's cells in their order; `base`: of an untrained model."""
    study = StudyFiles(results)
    files = study.cell(cell.folder)

    def stage(rule: str, *outputs: Path) -> Stage:
        return Stage(rule, outputs, study.log_of(rule, cell.folder))

    return [
        base_job(results, cell) if base else train_job(results, cell),
        stage("generate", files.completions, files.generation),
        stage("grade", files.grades, files.grading),
    ]


def data_job(results: Path) -> Stage:
    """The job that makes the problems."""
    files = StudyFiles(results)
    return Stage("data", (files.train_problems, files.eval_problems), files.log_of("data"))


def study_jobs(results: Path) -> list[Stage]:
    """The jobs of a study that belong to no cell and no model, in the order of the path of the data."""
    files = StudyFiles(results)

    def stage(rule: str, outputs: Iterable[Path], log: str = "", part: str = "") -> Stage:
        return Stage(rule, tuple(outputs), files.log_of(log or rule, part))

    return [
        data_job(results),
        stage("contamination", map(files.frame, ("contamination", "near_duplicates"))),
        stage("collect", [*map(files.frame, COLLECTED), files.manifest]),
        stage("shadow", map(files.frame, ("shadow", "overlap"))),
        stage("study_settings", [files.settings], "settings"),
        stage("statistics", map(files.statistics, STATISTICS)),
        stage("make_tables", [files.table(name, kind) for name in TABLES for kind in TABLE_KINDS], "tables"),
        *(stage(f"figure_{n}", [files.figure(n, kind) for kind in FIGURE_KINDS], "figures", n) for n in FIGURES),
        stage("paper_figures", files.paper_files),
        stage("claims", [files.claims, files.claims_text]),
        stage("notebook", [files.notebook]),
        stage("report", [files.report, files.overview, files.answer]),
    ]


def all_jobs(results: Path, study: "Study", stored: "Container[Cell]" = ()) -> list[Stage]:
    """Every job of a study but those of the `stored` cells, and of base models with which no other cell begins."""
    trained = [cell for cell in study.trained_cells() if cell not in stored]
    evaluated = [cell for cell in study.evaluated_cells() if cell not in stored]
    begun = study.base_cells([*trained, *(cell for cell in study.later_cells() if cell not in stored)])
    return [
        *study_jobs(results),
        *(base_job(results, base) for base in begun if base not in evaluated),
        *(train_job(results, cell) for cell in trained if cell not in evaluated),
        *(tune_job(results, *arm) for arm in study.tuned_arms()),
        *(stage for cell in evaluated for stage in cell_jobs(results, cell, study.base_of(cell) == cell)),
    ]
