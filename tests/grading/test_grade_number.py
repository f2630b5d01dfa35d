import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.grading import grade_answer
from ict_core.grading._number import read_number, settle_number

EQUAL = {
    "1234": [
        "1234", "1,234", "1{,}234", r"1\,234", "1,\\!234", "1\u202f234", "01234", "1234.0", "1,234.00", "$1,234",
        r"\$1,234", "$1234$", "€1,234", "1,234 dollars", r"1,234\text{ dollars}", r"\text{1,234 eggs}", "1234.",
        "1,234 square feet", "1234 m", "1234 m^2", "1234 miles per hour", "1234 miles/hour", "1234%", r"1234\%",
        r"1234^\circ", "1234°", "+1234", "1234 USD", "**1,234**",
    ],
    "-5": ["-5", "- 5", "-$5", "$-5", r"-\$5.00", "\u22125", "-5 degrees", "-05"],
    "0": ["0", "-0", "0.0", "000", "$0", "0 apples"],
    "1500000": ["1.5 million", r"\$1.5\text{ million}", "1,500 thousand dollars"],
    "0.5": ["0.5", ".5", "0.50", "$.50", "0.5 cups"],
}  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), [(gold, answer) for gold in EQUAL for answer in EQUAL[gold]])
def test_a_number_in_dress(gold, answer):
    assert read_number(answer) == gold
    for text in (f"so 7.\n#### {answer}", f"7 and \\boxed{{{answer}}}."):
        assert settle_number(text, gold).status == "correct"
        for other in ("1235", "5", "-1234", "1", "0.05"):
            assert settle_number(text, other).status == "wrong"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "x",
        "18x",
        "18k",
        "18 kilo million",
        "18 and a half",
        "2 dozen",
        "1,23",
        "1 234",
        "18/2",
        "18 20",
        "18!",
        "3:30",
    ]
    + ["x=18", "٣", "１８", r"\frac{36}{2}", r"\sqrt{18}", "18^2", "--18", "18-20", "18e3", "18 squared", "1.2.3"],
)
def test_not_a_number_in_dress(answer):
    assert read_number(answer) is None


@pytest.mark.parametrize(
    ("text", "status", "extracted"),
    [
        ("#### 18", "correct", "18"),
        ("####18", "correct", "18"),
        ("#### 17\nno\n#### 18", "correct", "18"),  # the authors' code takes the first
        ("#### 18\nBut \\boxed{17}", "wrong", "17"),
        ("\\boxed{17}\n#### 18", "correct", "18"),
        ("\\boxed{17}, \\boxed{18}", "correct", "18"),
        ("#### Step 1\n9 + 9 = 18 eggs.", "correct", "18"),
        ("#### 1. Add them\n9 + 9 = 18", "correct", "18"),
        ("\\boxed{18}\n#### Done", "correct", "18"),
        ("9 * 2 = $18 a day.", "correct", "18"),
        ("20-18", "correct", "18"),
        ("it loses -18", "wrong", "-18"),
        ("the share is 1/18", "wrong", "1/18"),
        ("at 5:18", "wrong", "5:18"),
        ("about 2,18", "wrong", "2,18"),
        ("H18", "no_answer", ""),
        ("eighteen", "no_answer", ""),
        ("", "no_answer", ""),
        ("18 or \\boxed{}", "no_answer", ""),
        ("so \\boxed{18", "correct", "18"),
        (r"\boxed{\frac{36}{2}}", "correct", r"\frac{36}{2}"),
        (r"\boxed{x = 18}", "correct", "x = 18"),
        (r"\boxed{18, 19}", "wrong", "18, 19"),
        (r"\boxed{18 million}", "wrong", "18 million"),
        (r"\boxed{18 \text{ dozen}}", "wrong", r"18 \text{ dozen}"),
        (r"\boxed{eighteen}", "correct", "eighteen"),
        ("1800 cents", "wrong", "1800"),
    ],
)
def test_which_number_counts(text, status, extracted):
    assert grade_answer(text, "18", "number") == (status, extracted)


@pytest.mark.parametrize("gold", ["", "x", "18 dozen", r"\frac12"])
def test_a_gold_that_is_no_number_is_an_error(gold):
    assert grade_answer("#### 18", gold, "number") == ("error", "18")


numbers = st.decimals(-(10**7), 10**7, places=2)


@given(numbers, numbers, st.sampled_from(["{:f}", "{:,f}", "${:,f}", "{:f} eggs", r"\text{{{:f}}}"]))
def test_exactly_equal_numbers_are_correct(answer, gold, form):
    text = form.format(answer)
    for whole in (f"#### {text}", f"\\boxed{{{text}}}"):
        assert settle_number(whole, f"{gold:f}").status == ("correct" if answer == gold else "wrong")
        assert settle_number(whole, f"{answer:,f}").status == "correct"
        assert settle_number(whole, f"{answer + 1:f}").status == "wrong"


@given(st.text())
def test_settling_never_raises(text):
    for whole in (text, f"\\boxed{{{text}}}", f"#### {text}"):
        verdict = settle_number(whole, "18")
        assert isinstance(verdict, str) or verdict.status in ("correct", "wrong", "no_answer")
