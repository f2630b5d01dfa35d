import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.grading.choice import CHOICES, grade_choice

FORMS = [
    "{B}",
    "{(B)}",
    "{B.}",
    "{B)}",
    "{ b }",
    "{$B$}",
    "{**B**}",
    r"{\text{B}}",
    r"{\text{(B)}}",
    r"{\textbf{B}}",
    r"{\mathrm{B}.}",
    " B",
]


@pytest.mark.parametrize("form", FORMS)
def test_a_letter_in_dress(form):
    assert grade_choice(f"so \\boxed{form}", "B") == ("correct", "B")
    assert grade_choice(f"so \\boxed{form}", "A") == ("wrong", "B")


@pytest.mark.parametrize(
    "box", ["", "E", "AB", "A or B", "42", "B) Paris", r"\beta", r"\textB", "Β"]
)  # a Greek capital
def test_a_box_without_a_choice(box):
    assert grade_choice(f"\\boxed{{A}} or \\boxed{{{box}}}", "A") == ("no_answer", "")


def test_the_last_box_counts():
    assert grade_choice(r"\boxed{A}, or rather \boxed{C}, cut \boxed{B", "C") == ("correct", "C")


def test_no_box():
    assert grade_choice("The answer is B.", "B") == ("no_answer", "")


@given(st.text(), st.sampled_from(CHOICES))
def test_any_text_has_a_status(text, gold):
    assert grade_choice(text, gold).status in ("correct", "wrong", "no_answer")
    assert grade_choice(f"\\boxed{{{text}}}", gold).status in ("correct", "wrong", "no_answer")
    assert grade_choice(f"{text} \\boxed{{{gold}}}", gold) == ("correct", gold)
