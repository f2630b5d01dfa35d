import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.grading import LETTERS
from ict_core.grading._choice import grade_choice

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


@pytest.mark.parametrize("box", ["", "E", "AB", "A or B", "42", "B Paris", r"\beta", r"\textB", "Β"])  # a Greek capital
def test_a_box_without_a_choice(box):
    assert grade_choice(f"\\boxed{{A}} or \\boxed{{{box}}}", "A") == ("no_answer", "")


def test_the_last_box_counts():
    assert grade_choice(r"\boxed{A}, or rather \boxed{C}, cut \boxed{B", "C") == ("correct", "C")


@pytest.mark.parametrize(
    "text",
    [
        "B",
        " (B). ",
        "**B**",
        "The answer is B.",
        "Answer: (B)",
        "Answer: $B$",
        "so the correct answer is option B",
        r"The final answer is $\textbf{(B)}$",
        "The answer is A. No: the answer is B, as 2 + 2 = 4.",
    ],
)
def test_a_letter_declared_without_a_box(text):
    assert grade_choice(text, "B") == ("correct", "B")
    assert grade_choice(text, "C") == ("wrong", "B")


@pytest.mark.parametrize(
    "text", ["", "(B) is too small", "B or C", "the answer is banana", "The answer is Bohr", "answer B2: 5", "Ｂ", "b?"]
)
def test_a_letter_that_is_no_declaration(text):
    assert grade_choice(text, "B") == ("no_answer", "")


def test_a_box_outweighs_a_declaration():
    assert grade_choice(r"\boxed{C}. The answer is B.", "C") == ("correct", "C")


@given(st.text(), st.sampled_from(LETTERS))
def test_any_text_has_a_status(text, gold):
    assert grade_choice(text, gold).status in ("correct", "wrong", "no_answer")
    assert grade_choice(f"\\boxed{{{text}}}", gold).status in ("correct", "wrong", "no_answer")
    assert grade_choice(f"{text} \\boxed{{{gold}}}", gold) == ("correct", gold)
