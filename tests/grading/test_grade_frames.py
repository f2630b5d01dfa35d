import pandas as pd
import pytest
from cases import CASES

from ict_core.errors import UserError
from ict_core.grading.boxes import Verdict
from ict_core.grading.grade import grade_completions
from ict_core.grading.pool import GradingPool
from ict_core.store.records import COMPLETIONS, GRADES, PROBLEMS, write_frame
from ict_core.training.rewards import verifier_reward

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
def test_grades_in_the_order_of_the_completions_of_benchmarks_that_differ_in_samples(tmp_path):
    texts = pd.concat([TEXTS, TEXTS[:1].assign(benchmark="math")]).set_index(pd.Index([5, 5, 3, 2, 9, 0, 0]))
    grades = grade_completions(texts, pd.concat([GOLD, GOLD[1:2].assign(benchmark="math")]), **LIMITS)
    assert list(grades["status"]) == ["correct", "correct", "wrong", "no_answer", "wrong", "correct", "correct"]
    assert list(grades["extracted"]) == ["0.5", "85", "C", "", "2", "B", "0.5"]
    kept = ["benchmark", "problem", "sample", "finish_reason", "tokens"]
    pd.testing.assert_frame_equal(grades[kept], texts[kept].reset_index(drop=True))
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
        (TEXTS, GOLD.replace({"answer": {"85": " "}}), "problem p: its answer is not an expression"),
        (TEXTS, GOLD.replace({"answer": {"85": " "}}).set_axis([7, 2, 1]), "problem p: its answer is not"),
    ],
)
def test_frames_that_do_not_fit(texts, gold, complaint):
    with pytest.raises(UserError, match=complaint):
        grade_completions(texts, gold, **LIMITS)


@pytest.mark.parametrize(("always", "other"), [("correct", "wrong"), ("wrong", "correct")])
def test_a_broken_grader_aborts_the_job(monkeypatch, always, other):
    monkeypatch.setattr(GradingPool, "grade", lambda pool, items: [Verdict(always)] * len(items))
    with pytest.raises(UserError, match=f"expected {other}, found {always}"):
        grade_completions(TEXTS, GOLD, **LIMITS)


@pytest.mark.slow
def test_the_reward_is_1_where_the_evaluation_says_correct():
    """And in a worker a text has the status that it has in this process (test_cases.py)."""
    rows = [row for group in CASES.values() for row in group]
    problems = [("b", str(n), "?", "[]", "?", row[1], row[0]) for n, row in enumerate(rows)]
    answers = [("b", str(n), 0, 7, row[2], 1, "stop", -1.0) for n, row in enumerate(rows)]
    frames = pd.DataFrame(answers, columns=list(COMPLETIONS)), pd.DataFrame(problems, columns=list(PROBLEMS))
    evaluated = grade_completions(*frames, **LIMITS)["status"].tolist()
    kinds, golds, texts = ([row[column] for row in rows[::5]] for column in range(3))
    with GradingPool(**LIMITS) as pool:
        rewards = verifier_reward(pool)(texts, golds, kinds)
    assert rewards == [float(status == "correct") for status in evaluated[::5]]
    assert evaluated == [row[3] for row in rows]
