"""What another grader makes of a study's stored completions: whose verdict flipped, and the study's files under it."""

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ict_core.errors import UserError
from ict_core.evidence.collect import collect
from ict_core.evidence.scores import count_grades
from ict_core.statistics.metrics import pass_at_k
from ict_core.store import records
from ict_core.store.files import appearing, write_text
from ict_core.store.layout import StudyFiles
from ict_core.store.manifests import read_manifest, write_manifest
from ict_core.tables.write import csv

if TYPE_CHECKING:
    from ict_core.config import Cell, Study

SAME = ("shadow.parquet", "overlap.parquet", "contamination.parquet", "near_duplicates.parquet")
"""The stored files that no grade of a completion is in."""

NOTE = "Its answers were graded anew, after it was run."
_SHOWN = 200  # flips in the readable list
_ANSWER = ["benchmark", "problem", "sample"]
_NUMBER = re.compile(r"[-+]?[0-9.,/]*")
_FORMULA = ("=", "+", "-", "@")  # what a spreadsheet takes for the begin of one


def flips(old: pd.DataFrame, new: pd.DataFrame, problems: pd.DataFrame) -> pd.DataFrame:
    """The answers of one cell whose status differs between two frames of ``records.GRADES``.

    Args:
        old, new: of the same completions.
        problems: a frame of ``records.PROBLEMS``, for the gold answers.

    Returns:
        ``benchmark``, ``problem``, ``sample``, ``old_status``, ``new_status``, ``old_extracted``, ``new_extracted``,
        ``gold``; in the order of ``new``.

    Raises:
        UserError: the frames are of other completions.
    """
    if not old[_ANSWER].equals(new[_ANSWER]):
        raise UserError("the stored grades are of other completions than the new ones; grade the study first")
    golds = problems.set_index(["benchmark", "problem"])["answer"]
    found = new[_ANSWER].assign(
        **{f"{when}_{column}": frame[column] for column in ("status", "extracted") for when, frame in _both(old, new)},
        gold=[golds[benchmark, problem] for benchmark, problem in zip(new["benchmark"], new["problem"], strict=True)],
    )
    return found[old["status"] != new["status"]].reset_index(drop=True)


def changes(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """One cell's pass@1 by benchmark under two graders.

    Args:
        old, new: frames of ``records.GRADES`` of the same completions.

    Returns:
        ``benchmark``, ``samples``, ``flipped``; ``old_pass_at_1``, ``new_pass_at_1`` and their difference ``change``,
        shares, over the problems with a graded sample (NaN without any).
    """
    flipped = (old["status"] != new["status"]).groupby(old["benchmark"], sort=False).sum()
    shares = {f"{when}_pass_at_1": _pass_at_1(frame) for when, frame in _both(old, new)}
    found = pd.DataFrame({"samples": new.groupby("benchmark", sort=False).size(), "flipped": flipped, **shares})
    return found.assign(change=found["new_pass_at_1"] - found["old_pass_at_1"]).rename_axis("benchmark").reset_index()


def _both(old: pd.DataFrame, new: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [("old", old), ("new", new)]


def _pass_at_1(grades: pd.DataFrame) -> pd.Series:
    counts = count_grades(grades)
    known = counts[counts["n"] > 0]
    values = pd.Series(pass_at_k(known["n"], known["correct"], 1), index=known.index)
    return values.groupby(known["benchmark"], sort=False).mean()


def run(study: "Study", results: Path, out: Path, stored: bool) -> None:
    """Compare the grades in ``out`` with the study's own: writes ``flips.{csv,md}`` and ``changes.{csv,md}``.

    Args:
        study: the study.
        results: its folder.
        out: holds ``<model>/<variant>/seed-<n>/grades.parquet`` and ``grading.json`` of cells graded anew.
        stored: write there also all that the evidence is made from, with the new scores, which takes every cell graded
            anew and the study collected. What is shown of these files says so (:data:`NOTE`).

    Raises:
        UserError: no cell was graded anew, or a file is missing.
    """
    problems = records.read_frame(StudyFiles(results).eval_problems, records.PROBLEMS)
    both = StudyFiles(results), StudyFiles(out)
    files = {cell: [study_files.cell(cell.folder).grades for study_files in both] for cell in study.evaluated_cells()}
    cells = [cell for cell, grades in files.items() if all(file.exists() for file in grades)]
    if not cells:
        raise UserError(f"{results}: no cell has completions and grades; run the study, or a cell of it, first")
    found, summary = [], []
    for cell in cells:
        old, new = (records.read_frame(file, records.GRADES) for file in files[cell])
        found.append(_of_cell(flips(old, new, problems), cell))
        summary.append(_of_cell(changes(old, new), cell))
    if stored:
        _bring_over(study, results, out)
    flipped = pd.concat(found, ignore_index=True)
    _write(flipped, pd.concat(summary, ignore_index=True), len(cells), study.name, out)
    for change, number in (flipped["old_status"] + " -> " + flipped["new_status"]).value_counts().items():
        print(f"{change}: {number}")
    print(f"{len(flipped)} verdicts flipped; see {out / 'flips.md'} and {out / 'changes.md'}")


def _of_cell(frame: pd.DataFrame, cell: "Cell") -> pd.DataFrame:
    return pd.concat([pd.DataFrame([cell] * len(frame), columns=cell._fields), frame], axis=1)


def _bring_over(study: "Study", results: Path, out: Path) -> None:
    for name in SAME:
        with appearing(out / name) as partial:
            shutil.copyfile(results / name, partial)
    settings = read_manifest(StudyFiles(results).settings)
    note = f"{settings['note']} {NOTE}"
    write_manifest(StudyFiles(out).settings, settings | {"note": note, "grading": study.grading.dump()})
    collect(results, study.base_cells(), study.cells(), list(study.benchmarks), regraded=out)


def _write(flipped: pd.DataFrame, summary: pd.DataFrame, cells: int, name: str, out: Path) -> None:
    write_text(out / "flips.csv", csv(flipped.map(for_csv)))
    write_text(out / "changes.csv", csv(summary))
    head = f"{len(flipped)} of {summary['samples'].sum()} answers of {cells} cells of {name} have another status."
    more = f"The first {_SHOWN}; all are in `flips.csv`.\n\n" if len(flipped) > _SHOWN else ""
    write_text(out / "flips.md", f"# Flipped verdicts\n\n{head}\n\n{more}{_markdown(flipped.head(_SHOWN))}")
    shares = summary.select_dtypes("float").map("{:.3f}".format)
    write_text(out / "changes.md", f"# Change of pass@1\n\n{head}\n\n{_markdown(summary.assign(**shares))}")


def for_csv(value: object) -> object:
    """A value for a spreadsheet: texts are printable, and behind an apostrophe where they would be formulas."""
    if not isinstance(value, str):
        return value
    formula = value.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    return "'" * formula + _printable(value)


def for_markdown(value: object) -> str:
    """Any value as plain text in one cell of a Markdown table: nothing in it is markup, HTML or a line's end."""
    text = _printable(str(value)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"[\\`*_{}\[\]()!|~$:@]|(?<=www)\.", r"\\\g<0>", text)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _markdown(frame: pd.DataFrame) -> str:
    rows = [[for_markdown(value) for value in row] for row in frame.itertuples(index=False)]
    head = [column.replace("_", " ") for column in frame.columns]
    lines = [f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines) + "\n"
