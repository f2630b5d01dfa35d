"""Which gold answers are legal."""

import pytest

from ict_core.grading import grade_answer, refusal
from ict_core.grading._answers import SETTLERS
from ict_core.grading._gold import ANSWER_TYPES

LEGAL = {
    "integer": ("0", "7", "33", "999"),
    "number": ("0", "-5", "1234567", "0.50", "007"),
    "choice": ("A", "B", "C", "D"),
    "latex": (r"\frac{1}{2}", "x", " 7\n", "\\text{a}\nb"),
}
ILLEGAL = {
    "integer": ("", "1000", "033", "-1", "2.5", " 7", "7\n", "٣"),
    "number": ("", "1,234", "five", "5 million", "1.", "+1", "٣", "1\n"),
    "choice": ("", "E", "a", "AB", "A\n"),
    "latex": ("", " \n\t"),
}


def test_every_answer_type_has_a_grader():
    assert set(ANSWER_TYPES) == set(SETTLERS) == {*LEGAL, "math"}


@pytest.mark.parametrize(("kind", "gold"), [(kind, gold) for kind, golds in LEGAL.items() for gold in golds])
def test_a_legal_gold_answer_is_graded_correct_against_itself(kind, gold):
    assert refusal(gold, kind) is None
    assert grade_answer(rf"\boxed{{{gold}}}", gold, kind).status == "correct"


@pytest.mark.parametrize(("kind", "gold"), [(kind, gold) for kind, golds in ILLEGAL.items() for gold in golds])
def test_what_is_no_gold_answer_of_its_type(kind, gold):
    assert refusal(gold, kind)


def test_math_is_latex():
    assert refusal("", "math") == refusal("", "latex") == "an expression"
