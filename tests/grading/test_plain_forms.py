"""Mathematics without LaTeX, products with i, inequations, letters in quotation marks: judged as a reader would."""

import pytest

from ict_core.grading import grade_answer
from ict_core.grading._choice import grade_choice
from ict_core.grading._plain import as_latex, sides_of_inequation

RIGHT = [
    ("45°", r"45^\circ"),
    ("45°", "45"),
    ("1 1/2", r"\frac{3}{2}"),
    ("-1 1/2", r"-\frac32"),
    ("1 1/2", "1.5"),
    ("2 = x", "2"),
    ("2=x", "x=2"),
    (r"\frac12 = y", r"\frac{1}{2}"),
    ("(1+i)(1-i)", "2"),
    (r"i\cdot i", "-1"),
    (r"(2+i)(3-i)", "7+i"),
    ("7+i", "7 + i"),
    (r"\frac{1}{i}", "-i"),
    (r"\sin 30^\circ", r"\frac12"),
    (r"\cos 60^{\circ}", "0.5"),
    (r"\tan(45^\circ)", "1"),
    (r"2\sin 30^\circ", "1"),
    ("pi/2", r"\frac{\pi}{2}"),
    ("3pi", r"3\pi"),
    ("3π", r"3\pi"),
    ("√3", r"\sqrt{3}"),
    ("2√3", r"2\sqrt3"),
    ("√(12)", r"2\sqrt{3}"),
    ("2**3", "8"),
    ("x**2+1", "x^2+1"),
    (r"x \neq 4", r"x \ne 4"),
    ("x ≠ 4", r"x\neq 4"),
    (r"4 \neq x", r"x \neq 4"),
    ("sqrt(3)", r"\sqrt{3}"),
    ("½", r"\frac12"),
    (r"x \ge 3", "x ≥ 3"),
    ("3\\text{ cm}", "3"),
    ("-3", "−3"),
    ("2 × 3", "6"),
    (r"3 \frac{1}{2}", r"\frac{7}{2}"),
    ("90 degrees", r"90^\circ"),
    ("x=3", "3"),
    ("(3, 4)", "(3,4)"),
    ("50%", "50"),
    (r"\{1,2\}", r"\{2,1\}"),
    ("1,000", "1000"),
    (r"\frac{3}{4}", "0.75"),
    ("3/4", r"\frac34"),
    (r"10^{3}", "1000"),
    (r"e^{i\pi}", "-1"),
    ("5!", "120"),
    (r"\log_2 8", "3"),
    ("2x+2", "2(x+1)"),
    ("y = 2x + 1", "y=2x+1"),
    ("y=2x+1", "2x+1"),
    ("[0, 1)", r"[0,1)"),
    (r"(-\infty, 3]", r"(-\infty,3]"),
    ("3.0", "3"),
    (r"\binom{5}{2}", "10"),
    (r"\pi r^2", r"r^2\pi"),
]
WRONG = [
    (r"x \neq 4", r"x \neq 3"),
    (r"x \neq 4", "4"),
    ("4", r"x \neq 4"),
    ("45°", "46"),
    ("1 1/2", r"\frac{11}{2}"),
    ("2 = x", "3"),
    ("(1+i)(1-i)", "0"),
    ("i", "1"),
    ("i", "-1"),
    (r"\sin 30^\circ", r"\frac{\sqrt3}{2}"),
    ("pi/2", "pi"),
    ("√3", "3"),
    ("2**3", "6"),
    ("3i", "3"),
    ("i^2", "1"),
    ("2i", "2"),
    ("1 2", "12"),
    ("x_i", "x"),
    ("11/2", "1 1/2"),
    ("3π", "3"),
    (r"\tan 45^\circ", "0"),
    ("a+bi", "a+b"),
]


@pytest.mark.parametrize(("answer", "gold"), RIGHT)
def test_what_says_the_same_is_right(answer, gold):
    assert grade_answer(rf"so \boxed{{{answer}}}", gold, "latex").status == "correct"


@pytest.mark.parametrize(("answer", "gold"), WRONG)
def test_what_says_something_else_is_wrong(answer, gold):
    assert grade_answer(rf"so \boxed{{{answer}}}", gold, "latex").status == "wrong"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('Answer: "B"', "correct"),
        ("The answer is 'B'.", "correct"),
        ("The answer is \u201cB\u201d.", "correct"),
        ('"B"', "correct"),
        ('Answer: "C"', "wrong"),
        ("Answer: 'Because'", "no_answer"),
        ("The answer is B's", "no_answer"),
    ],
)
def test_a_letter_in_quotation_marks_is_a_choice(text, status):
    assert grade_choice(text, "B").status == status


@pytest.mark.parametrize(
    "answer", ["x^2+1", r"\frac{1}{2}", "spin 3", "epic", "a=b=c", "2 < x", "x = 2", "1 2", r"\pi"]
)
def test_what_has_no_plain_form_stays_as_it_is(answer):
    assert as_latex(answer) == answer


def test_an_inequation_has_two_sides():
    assert sides_of_inequation(r"x \neq 4") == ("x", "4") and sides_of_inequation(r"x \ne 4") == ("x", "4")
    for other in ("x = 4", r"\nearrow", r"x \neq 4 \neq y", r"\neq 4"):
        assert sides_of_inequation(other) is None
