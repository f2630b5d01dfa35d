"""Stored completions under another grader: the verdicts that flipped, and the study's files with the new grades."""

import shutil
from pathlib import Path

import pandas as pd

from ict_core.config.study import Study
from ict_core.config.study_file import Cell
from ict_core.errors import UserError
from ict_core.evidence.cells import Counted, counted
from ict_core.evidence.collect import collect, count_grades
from ict_core.statistics.metrics import pass_at_k
from ict_core.store import records
from ict_core.store.files import appearing, write_text
from ict_core.store.layout import StudyFiles
from ict_core.store.manifests import read_manifest, write_manifest
from ict_core.tables.write import csv

_UNGRADED = ("shadow", "overlap", "contamination", "near_duplicates")  # the frames that hold no grade of a completion
NOTE = "Its answers were graded anew, after it was run."
_ANSWER = ["benchmark", "problem", "sample"]


def flips(old: pd.DataFrame, new: pd.DataFrame, problems: pd.DataFrame) -> pd.DataFrame:
    """The answers of one cell whose status differs between two ``records.GRADES`` of the same completions."""
    if not old[_ANSWER].equals(new[_ANSWER]):
        raise UserError("the stored grades are of other completions than the new ones; grade the study first")
    golds = problems.set_index(["benchmark", "problem"])["answer"]
    answers = new[_ANSWER].assign(
        old_status=old["status"],
        new_status=new["status"],
        old_extracted=old["extracted"],
        new_extracted=new["extracted"],
        gold=[golds[benchmark, problem] for benchmark, problem in zip(new["benchmark"], new["problem"], strict=True)],
    )
    return answers[old["status"] != new["status"]].reset_index(drop=True)


def changes(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """One cell's pass@1 by benchmark under two graders, from ``records.GRADES`` of the same completions.

    Values are shares over the problems with a graded sample (NaN without any).
    """
    numbers = {
        "samples": new.groupby("benchmark", sort=False).size(),
        "flipped": (old["status"] != new["status"]).groupby(old["benchmark"], sort=False).sum(),
        "old_pass_at_1": _pass_at_1(old),
        "new_pass_at_1": _pass_at_1(new),
    }
    frame = pd.DataFrame(numbers)
    return frame.assign(change=frame["new_pass_at_1"] - frame["old_pass_at_1"]).rename_axis("benchmark").reset_index()


def _pass_at_1(grades: pd.DataFrame) -> pd.Series:
    counts = count_grades(grades)
    graded = counts[counts["n"] > 0]
    values = pd.Series(pass_at_k(graded["n"], graded["correct"], 1), index=graded.index)
    return values.groupby(graded["benchmark"], sort=False).mean()


def regrade(study: Study, results: Path, out: Path, stored: bool, cells: Path | None = None) -> None:
    """Compare the grades in ``out``, of cells graded anew, with the study's own, and write ``flips`` and ``changes``.

    With ``stored`` also write all files that the evidence is made from, with the new scores. This needs new grades of
    every cell, and the study collected. `cells` has those that are stored on their own. The study's note then says that
    it was graded anew (:data:`NOTE`).
    """
    before, after = StudyFiles(results), StudyFiles(out)
    problems = records.read_frame(before.eval_problems, records.PROBLEMS)
    grades = {cell: [files.cell(cell.folder).grades for files in (before, after)] for cell in study.evaluated_cells()}
    again = [cell for cell, pair in grades.items() if all(file.exists() for file in pair)]
    if not again:
        raise UserError(f"{results}: no cell has completions and grades; run the study, or a cell of it, first")
    flipped, changed = dict[Cell, pd.DataFrame](), dict[Cell, pd.DataFrame]()
    for cell in again:
        old, new = (records.read_frame(file, records.GRADES) for file in grades[cell])
        flipped[cell], changed[cell] = flips(old, new, problems), changes(old, new)
    if stored:
        ungraded = {c: folder for c, folder in counted(study, cells, here=False).cells.items() if c not in grades}
        _bring_over(study, before, after, Counted(ungraded, {}))
    names = list(Cell._fields)
    answers, shares = (pd.concat(of, names=names).reset_index(names) for of in (flipped, changed))
    write_text(after.flips, csv(answers))
    write_text(after.changes, csv(shares))
    for change, number in (answers["old_status"] + " -> " + answers["new_status"]).value_counts().items():
        print(f"{change}: {number}")
    print(f"{len(answers)} verdicts flipped in {len(again)} cells; see {after.flips} and {after.changes}")


def _bring_over(study: Study, before: StudyFiles, after: StudyFiles, cells: Counted) -> None:
    for name in _UNGRADED:
        with appearing(after.frame(name)) as partial:
            shutil.copyfile(before.frame(name), partial)
    settings = read_manifest(before.settings)
    write_manifest(after.settings, settings | {"note": f"{settings['note']} {NOTE}", "grading": study.grading.dump()})
    collect(before.results, study, cells, regraded=after.results)
