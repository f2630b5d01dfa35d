"""What a complete study consists of: every job with its files. The workflow's `all` asks for all of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ict_core.evidence.files import MADE, MEASURED, SETTINGS
from ict_core.figures.registry import FIGURES
from ict_core.tables.registry import TABLES

if TYPE_CHECKING:
    from ict_core.config import Cell

_COLLECTED = [*(MEASURED[name] for name in ("scores", "log", "tokens", "compute")), "manifest.json"]


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
    output = results / model / "base" / "model"
    fetched = results / "logs" / "fetch_model" / f"{model}.log"
    if fetched.exists():
        return Stage("fetch_model", (output,), fetched)
    return Stage("pretrain", (output,), results / "logs" / "pretrain" / f"{model}.log")


def of_cell(results: Path, cell: "Cell", base: bool) -> list[Stage]:
    """The jobs of a cell in their order.

    Args:
        results: the study's folder.
        cell: one of the study's.
        base: whether it is an untrained model.
    """
    folder, logs = results / cell.folder, results / "logs"
    made = Stage("train", (folder / "train",), logs / "train" / f"{cell.folder}.log")
    answers = (folder / "completions.parquet", folder / "generation.json")
    verdicts = (folder / "grades.parquet", folder / "grading.json")
    return [
        of_base(results, cell.model) if base else made,
        Stage("generate", answers, logs / "generate" / f"{cell.folder}.log"),
        Stage("grade", verdicts, logs / "grade" / f"{cell.folder}.log"),
    ]


def of_data(results: Path) -> Stage:
    """The job that makes the problems."""
    return _stage(results, "data", ["data/train.parquet", "data/eval.parquet"])


def of_study(results: Path) -> list[Stage]:
    """The jobs of a study that belong to no cell and no model, in the order of the path of the data."""
    tables = [f"tables/{name}.{kind}" for name in TABLES for kind in ("csv", "md", "tex", "html")]
    return [
        of_data(results),
        _stage(results, "contamination", [MEASURED["contamination"], MEASURED["near_duplicates"]]),
        _stage(results, "collect", _COLLECTED),
        _stage(results, "shadow", [MEASURED["shadow"], MEASURED["overlap"]]),
        _stage(results, "study_settings", [SETTINGS], "settings"),
        _stage(results, "statistics", MADE.values()),
        _stage(results, "make_tables", tables, "tables"),
        *(
            _stage(results, f"figure_{name}", [f"figures/{name}.pdf", f"figures/{name}.png"], f"figures/{name}")
            for name in FIGURES
        ),
        _stage(results, "claims", ["claims.json", "claims.md", "claims.html"]),
        _stage(results, "notebook", ["paper_figures.ipynb"]),
        _stage(results, "report", ["report.md", "overview.html", "manifest.html"]),
    ]


def of_all(results: Path, base: Iterable["Cell"], trained: Iterable["Cell"]) -> list[Stage]:
    """Every job of a study.

    Args:
        results: the study's folder.
        base: the untrained models' cells.
        trained: all other cells.
    """
    cells = [*((cell, True) for cell in base), *((cell, False) for cell in trained)]
    return [*of_study(results), *(stage for cell, is_base in cells for stage in of_cell(results, cell, is_base))]


def _stage(results: Path, rule: str, names: Iterable[str], log: str | None = None) -> Stage:
    return Stage(rule, tuple(results / name for name in names), results / "logs" / f"{log or rule}.log")
