import pandas as pd
import pytest
from real_rows import math_train, rows

from ict_core.errors import UserError
from ict_core.grading import _grade as grade_module
from ict_core.grading import grade_answer, grade_completions, last_box
from ict_core.grading._math import _equal
from ict_core.store.records import COMPLETIONS, GRADES, PROBLEMS, write_frame

LIMITS = {"workers": 1, "seconds": 10.0, "memory_mib": 1024}


def problems(*rows):
    made = [("aime", name, "What?", "[]", "What?", answer, kind) for name, answer, kind in rows]
    return pd.DataFrame(made, columns=list(PROBLEMS))


def completions(*rows):
    return pd.DataFrame(
        [("aime", name, sample, 7, text, 10 + sample, "stop", -1.0) for name, sample, text in rows],
        columns=list(COMPLETIONS),
    )


GOLD = problems(("p", "85", "math"), ("q", r"\frac{1}{2}", "math"), ("r", "B", "choice"))
TEXTS = completions(
    ("q", 1, r"\boxed{0.5}"),
    ("p", 0, r"\boxed{85}"),
    ("r", 0, r"\boxed{C}"),
    ("p", 1, r"eighty-five"),
    ("q", 0, r"\boxed{2}"),
    ("r", 1, r"\boxed{(B)}"),
)


@pytest.mark.slow
def test_grades_in_the_order_of_the_completions(tmp_path):
    texts = TEXTS.set_index(pd.Index([5, 5, 3, 2, 9, 0]))
    grades = grade_completions(texts, GOLD, **LIMITS)
    assert list(grades["status"]) == ["correct", "correct", "wrong", "no_answer", "wrong", "correct"]
    assert list(grades["extracted"]) == ["0.5", "85", "C", "", "2", "B"]
    kept = ["benchmark", "problem", "sample", "finish_reason", "tokens"]
    pd.testing.assert_frame_equal(grades[kept], TEXTS[kept])
    write_frame(grades, tmp_path / "grades.parquet", GRADES)


@pytest.mark.slow
def test_no_completions_of_no_problems():
    grades = grade_completions(TEXTS[:0], GOLD[:0], **LIMITS)
    assert list(grades) == list(GRADES) and grades.empty


@pytest.mark.parametrize(
    ("texts", "gold", "complaint"),
    [
        (TEXTS, pd.concat([GOLD, GOLD[1:2]]), "benchmark aime, problem q: .* twice"),
        (pd.concat([TEXTS, TEXTS[2:3]]), GOLD, "problem r, sample 0: .* twice"),
        (TEXTS, GOLD[:2], "problem r, sample 0: the problem is not among the problems .and 1 more"),
        (TEXTS[TEXTS["problem"] != "q"], GOLD, "problem q: the problem has no completion"),
        (TEXTS[:5], GOLD, "problem r, samples 1: other problems of the benchmark have more samples"),
        (TEXTS, GOLD.replace({"choice": "essay"}), "problem r: its answer_type"),
        (TEXTS, GOLD.replace({"answer": {"B": "b"}}), "problem r: its answer is not one of A, B, C, D"),
        (TEXTS, GOLD.replace({"answer": {"85": " "}}), "problem p: its answer is empty"),
    ],
)
def test_frames_that_do_not_fit(texts, gold, complaint):
    with pytest.raises(UserError, match=complaint):
        grade_completions(texts, gold, **LIMITS)


@pytest.mark.slow
def test_benchmarks_may_differ_in_samples():
    other = TEXTS[:1].assign(benchmark="math")
    gold = pd.concat([GOLD, GOLD[1:2].assign(benchmark="math")])
    assert len(grade_completions(pd.concat([TEXTS, other]), gold, **LIMITS)) == 7


def test_canaries_abort_the_job(monkeypatch):
    def sick(_pool):
        raise UserError("canary")

    monkeypatch.setattr(grade_module, "check_canaries", sick)
    with pytest.raises(UserError, match="canary"):
        grade_completions(TEXTS, GOLD, **LIMITS)


def test_the_box_of_a_real_solution_holds_its_answer():
    math_500 = rows("HuggingFaceH4/MATH-500/default/test.jsonl")
    other = [r["unique_id"] for r in math_500 if grade_answer(r["solution"], r["answer"], "latex").status != "correct"]
    assert other == []


def test_every_real_solution_has_a_box():
    assert [row["solution"] for row in math_train() if not last_box(row["solution"])] == []


@pytest.mark.slow
def test_real_answers_are_correct_against_themselves():
    """By math-verify alone, in another spelling."""
    answers = [row["answer"] for row in rows("HuggingFaceH4/MATH-500/default/test.jsonl")]
    spelled = [answer.replace(r"\frac", r"\dfrac").replace(r"\left", "").replace(r"\right", "") for answer in answers]
    assert [gold for answer, gold in zip(spelled, answers, strict=True) if not _equal(answer, gold)] == []
