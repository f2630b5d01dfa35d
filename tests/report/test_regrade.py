"""A study whose trainings that tune are stored one by one, under another grader."""

import json
from pathlib import Path

import pandas as pd
import pytest
from published_sets import REPOSITORY

from ict_core.config.load import load_study
from ict_core.config.study_file import Cell
from ict_core.evidence.cells import codes_of
from ict_core.evidence.outcomes import MADE
from ict_core.report import regrade as module
from ict_core.store import records
from ict_core.store.layout import StoredCellFiles, StudyFiles
from ict_core.store.manifests import read_manifest, write_manifest

STUDY = load_study(REPOSITORY / "configs/studies/mini-again.yaml")
PROBLEM = {"benchmark": "mini-word", "problem": "0"}


def grades(*statuses: str) -> pd.DataFrame:
    rows = [
        PROBLEM | {"sample": sample, "status": status, "extracted": "=5", "finish_reason": "stop", "tokens": 3}
        for sample, status in enumerate(statuses)
    ]
    return pd.DataFrame(rows)


def a_stored_cell(folder: Path, cell: Cell, **configs) -> Cell:
    """The record of a stored cell, without weights or frames, from the configurations of its jobs."""
    jobs = {stage: {"config": json.loads(json.dumps(config))} for stage, config in configs.items()}
    jobs[MADE]["model_sha256"] = "of the stored cell"
    run = {"code": codes_of(STUDY, [cell])[cell], "commit": "c", "hardware": []}
    record = {"cell": cell._asdict(), "jobs": jobs, "frames": {}, "runs": [run]}
    write_manifest(StoredCellFiles(folder / cell.folder).manifest, record)
    return cell


@pytest.mark.slow
def test_the_files_under_another_grader_are_collected_with_the_stored_trainings_that_tune(tmp_path, monkeypatch):
    before, after = StudyFiles(tmp_path / "study"), StudyFiles(tmp_path / "study/regrade")
    problem = PROBLEM | dict.fromkeys(("question", "options", "prompt"), "") | {"answer": "5", "answer_type": "math"}
    records.write_frame(pd.DataFrame([problem]), before.eval_problems, records.PROBLEMS)
    evaluated = STUDY.evaluated_cells()[0]
    for files, statuses in ((before, ("wrong", "correct")), (after, ("correct", "correct"))):
        records.write_frame(grades(*statuses), files.cell(evaluated.folder).grades, records.GRADES)
    for name in ("shadow", "overlap", "contamination", "near_duplicates"):
        before.frame(name).write_bytes(name.encode())
    write_manifest(before.settings, {"note": "A miniature.", "grading": {}})
    tuning = STUDY.tuning_cells()[0]
    cell = a_stored_cell(tmp_path / "cells", tuning, **{MADE: STUDY.resolve(tuning)})
    of_base = {stage: STUDY.stage_config(stage, evaluated) for stage in ("generate", "grade")}
    a_stored_cell(tmp_path / "cells", evaluated, **{MADE: STUDY.stage_config("base", evaluated)}, **of_base)
    collected = []
    monkeypatch.setattr(module, "collect", lambda *given, **named: collected.append((given, named)))

    module.regrade(STUDY, before.results, after.results, stored=True, cells=tmp_path / "cells")

    (((results, study, cells), named),) = collected
    assert (results, study, named) == (before.results, STUDY, {"regraded": after.results})
    assert cells.outcome(cell, before, after).job(MADE)["model_sha256"] == "of the stored cell"
    assert {cell: path.name for cell, path in cells.cells.items()} == {cell: Path(cell.folder).name}  # no old scores
    assert read_manifest(after.settings)["note"] == "A miniature. " + module.NOTE
    assert after.frame("shadow").read_bytes() == b"shadow"
    (flip,) = pd.read_csv(after.flips, dtype=str).to_dict("records")
    assert (flip["old_status"], flip["new_status"], flip["new_extracted"]) == ("wrong", "correct", "'=5")
