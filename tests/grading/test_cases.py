"""Texts by hand: what a person would call right is right, and no near miss is."""

import pytest
from boxed import BOXED
from cases import CASES

from ict_core.grading.answers import grade_answer

ROWS = [pytest.param(*row[:4], id=f"{name}: {row[2]}") for name, rows in CASES.items() for row in rows]
ROWS += [
    pytest.param(kind, gold, rf"so \boxed{{{answer}}}.", status)
    for (kind, gold, status), answers in BOXED.items()
    for answer in answers
]


@pytest.mark.parametrize(("kind", "gold", "text", "status"), ROWS)
def test_a_text_has_the_status_that_a_person_would_give_it(kind, gold, text, status):
    assert grade_answer(text, gold, kind).status == status


NUMBERS = [
    ("#### 18", "correct", "18"),
    ("#### 17\nno\n#### 18", "correct", "18"),  # the authors' code takes the first
    ("#### 18\nBut \\boxed{17}", "wrong", "17"),
    ("\\boxed{17}\n#### 18", "correct", "18"),
    ("#### Step 1\n9 + 9 = 18 eggs.", "correct", "18"),
    ("\\boxed{18}\n#### Done", "correct", "18"),
    ("9 * 2 = $18 a day.", "correct", "18"),
    ("20-18", "correct", "18"),
    ("it loses -18", "wrong", "-18"),
    ("the share is 1/18", "wrong", "1/18"),
    ("about 2,18", "wrong", "2,18"),
    ("H18", "no_answer", ""),
    ("eighteen", "no_answer", ""),
    ("18 or \\boxed{}", "no_answer", ""),
    ("so \\boxed{18", "correct", "18"),
    (r"\boxed{x = 18}", "correct", "x = 18"),
    (r"\boxed{18, 19}", "wrong", "18, 19"),
    (r"\boxed{18 million}", "wrong", "18 million"),
    ("1800 cents", "wrong", "1800"),
]
LETTERS = [
    (r"\boxed{A}, or rather \boxed{B}, cut \boxed{C", "correct", "B"),
    (r"\boxed{C}. The answer is B.", "wrong", "C"),
    (r"The final answer is $\textbf{(B)}$", "correct", "B"),
    ("The answer is \u201cB\u201d.", "correct", "B"),
    ('"B"', "correct", "B"),
    ("The answer is A. No: the answer is B, as 2 + 2 = 4.", "correct", "B"),
    ("B or C", "no_answer", ""),
    ("The answer is B's", "no_answer", ""),
    ("answer B2: 5", "no_answer", ""),
    ("Ｂ", "no_answer", ""),
    ("b?", "no_answer", ""),
]


@pytest.mark.parametrize(
    ("kind", "gold", "text", "status", "extracted"),
    [("number", "18", *row) for row in NUMBERS] + [("choice", "B", *row) for row in LETTERS],
)
def test_which_number_or_letter_of_a_text_counts(kind, gold, text, status, extracted):
    assert grade_answer(text, gold, kind) == (status, extracted)
