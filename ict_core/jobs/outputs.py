"""What a complete study consists of: every job with its files. The workflow's `all` asks for all of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ict_core.figures.registry import FIGURES
from ict_core.statistics.schemas import STATISTICS
from ict_core.store.layout import FIGURE_KINDS, TABLE_KINDS, StudyFiles
from ict_core.tables.registry import TABLES

if TYPE_CHECKING:
    from ict_core.config import Cell


class Stage(NamedTuple):
    """A job.

    Attributes:
        name: of the rule.
        outputs: files and folders, each of which appears whole or not at all.
        log: what the job prints.
    """

    name: str
    outputs: tuple[Path, ...]
    log: Path


def of_base(results: Path, model: str) -> Stage:
    """The job that makes a base model; which of two rules does, its log tells."""
    files = StudyFiles(results)
    fetched = files.log_of("fetch_model", model).exists()
    rule = "fetch_model" if fetched else "pretrain"
    return Stage(rule, (files.base_model(model),), files.log_of(rule, model))


def of_cell(results: Path, cell: "Cell", base: bool) -> list[Stage]:
    """The jobs of a cell in their order.

    Args:
        results: the study's folder.
        cell: one of the study's.
        base: whether it is an untrained model.
    """
    files = StudyFiles(results)
    of_cell = files.cell(cell.folder)
    outputs = {
        "train": (of_cell.train,),
        "generate": (of_cell.completions, of_cell.generation),
        "grade": (of_cell.grades, of_cell.grading),
    }
    stages = [Stage(rule, made, files.log_of(rule, cell.folder)) for rule, made in outputs.items()]
    return [of_base(results, cell.model), *stages[1:]] if base else stages


def of_data(results: Path) -> Stage:
    """The job that makes the problems."""
    files = StudyFiles(results)
    return Stage("data", (files.train_problems, files.eval_problems), files.log_of("data"))


def of_study(results: Path) -> list[Stage]:
    """The jobs of a study that belong to no cell and no model, in the order of the path of the data."""
    files = StudyFiles(results)
    tables = [files.table(name, kind) for name in TABLES for kind in TABLE_KINDS]
    figures = {name: [files.figure(name, kind) for kind in FIGURE_KINDS] for name in FIGURES}
    collected = [*map(files.frame, ("scores", "log", "tokens", "compute")), files.manifest]
    outputs = {
        "contamination": [*map(files.frame, ("contamination", "near_duplicates"))],
        "collect": collected,
        "shadow": [*map(files.frame, ("shadow", "overlap"))],
        "study_settings": [files.settings],
        "statistics": [*map(files.statistics, STATISTICS)],
        "make_tables": tables,
        **{f"figure_{name}": drawn for name, drawn in figures.items()},
        "claims": [files.claims, files.claims_text, files.claims_page],
        "notebook": [files.notebook],
        "report": [files.report, files.overview, files.manifest_page],
    }
    logs = {"study_settings": "settings", "make_tables": "tables"}
    logs |= {f"figure_{name}": f"figures/{name}" for name in FIGURES}
    stages = [Stage(rule, tuple(made), files.log_of(logs.get(rule, rule))) for rule, made in outputs.items()]
    return [of_data(results), *stages]


def of_all(results: Path, base: Iterable["Cell"], trained: Iterable["Cell"]) -> list[Stage]:
    """Every job of a study.

    Args:
        results: the study's folder.
        base: the untrained models' cells.
        trained: all other cells.
    """
    cells = [*((cell, True) for cell in base), *((cell, False) for cell in trained)]
    return [*of_study(results), *(stage for cell, is_base in cells for stage in of_cell(results, cell, is_base))]
