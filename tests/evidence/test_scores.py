"""The counts of a cell's verdicts."""

import subprocess
import sys

import pandas as pd
import pytest

from ict_core.config import Cell
from ict_core.errors import UserError
from ict_core.evidence import count_grades, score_grades
from ict_core.store.records import GRADES, SCORES, read_frame, write_frame

CELL = Cell("m", "v", 3)


def grades(*rows) -> pd.DataFrame:
    """A frame of records.GRADES from (problem, sample, status, finish reason, tokens)."""
    made = [("b", problem, sample, status, "", reason, tokens) for problem, sample, status, reason, tokens in rows]
    return pd.DataFrame(made, columns=list(GRADES)).astype({"sample": "int64", "tokens": "int64"})


def test_one_row_a_problem_in_order_of_first_appearance(tmp_path):
    rows = [("q", 1, "wrong"), ("p", 0, "correct"), ("q", 0, "correct"), ("p", 1, "no_answer")]
    found = grades(*((problem, sample, status, "stop", 10 + sample) for problem, sample, status in rows))
    scores = score_grades(found, CELL)
    write_frame(scores, tmp_path / "scores.parquet", SCORES)
    assert list(read_frame(tmp_path / "scores.parquet", SCORES)["problem"]) == ["q", "p"]
    assert (scores["n"] == 2).all() and (scores["correct"] == 1).all() and (scores["seed"] == 3).all()
    assert list(scores["tokens"]) == [21, 21]


def test_ungraded_samples_do_not_count_in_n():
    statuses = ["correct", "wrong", "no_answer", "timeout", "memory", "error", "correct"]
    reasons = ["stop"] * 5 + ["length"] * 2
    found = grades(*(("p", i, *said, 10) for i, said in enumerate(zip(statuses, reasons, strict=True))))
    (row,) = score_grades(found, CELL).to_dict("records")
    counts = {
        "benchmark": "b", "problem": "p", "sampled": 7, "n": 4, "correct": 2, "wrong": 1, "no_answer": 1,
        "timeout": 1, "memory": 1, "error": 1, "truncated": 2, "tokens": 70,
    }  # fmt: skip
    assert row == {"model": "m", "variant": "v", "seed": 3, **counts}
    assert count_grades(found).to_dict("records") == [counts]
    with pytest.raises(UserError, match="benchmark b, problem p, sample 0, status maybe: the status is unknown"):
        count_grades(found.replace({"status": {"correct": "maybe"}}))


def test_no_grades_have_no_scores():
    scores = score_grades(grades(), CELL)
    assert list(scores) == list(SCORES) and scores.empty


@pytest.mark.slow
def test_the_evidence_is_read_without_a_grader():
    code = "import sys, ict_core.evidence._stored; print(*(m for m in sys.modules if m.startswith('ict_core.grading')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
