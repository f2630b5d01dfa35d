import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.grading import grade_answer
from ict_core.grading._number import is_integer_gold, settle_integer

FORMS = [
    r"\boxed{33}", r"\boxed{033}", r"\boxed{$33$}", r"\boxed{\text{33}}", r"\boxed{33.}", r"\boxed{\textbf{033}.}",
    r"\boxed{33.0}", r"\boxed{ 33 }", r"\boxed{{33}}", r"\boxed 33", r"\boxed{\(33\)}", r"\boxed{**33**}",
    r"\boxed{12}, no, \boxed{33}", r"\boxed{\textbf{(033)}}",
    "33", "(33)", " $033$. ", r"\text{33}", "The answer is 33.", "Answer: $33$, as shown",
    "The answer is 12. Rather, the answer is **033**",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.parametrize("gold", ["33", "033"])
def test_forms_of_an_integer(text, gold):
    assert settle_integer(text, gold).status == "correct"
    for other in ("34", "32", "3", "330", "66"):
        assert settle_integer(text, other).status == "wrong"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (r"\boxed{m+n=33}", "correct"),
        (r"\boxed{\frac{66}{2}}", "correct"),
        (r"\boxed{25+8}", "correct"),
        (r"\boxed{33^\circ}", "correct"),
        (r"\boxed{33\text{ cm}}", "correct"),
        (r"\boxed{m+n=34}", "wrong"),
        (r"\boxed{33, 34}", "wrong"),
        (r"\boxed{33 \text{ or } 34}", "wrong"),
        (r"\boxed{33x}", "wrong"),
        (r"\boxed{-33}", "wrong"),
        (r"\boxed{1,033}", "wrong"),
        (r"\boxed{３３}", "wrong"),
        (r"\boxed{٣٣}", "wrong"),
        (r"\boxed{}", "no_answer"),
        (r"33 and \boxed{", "no_answer"),
        ("so we find 33", "correct"),
        ("we use 33 here", "no_answer"),
        ("answer is 33/2", "wrong"),
        ("answer is 33x", "wrong"),
        ("answer is 33.5", "wrong"),
        ("٣٣", "no_answer"),
        ("", "no_answer"),
    ],
)
def test_other_boxes_and_texts(text, status):
    assert grade_answer(text, "33", "integer").status == status


@pytest.mark.parametrize("gold", ["0", "000", "7", "999", " 25 "])
def test_golds(gold):
    assert is_integer_gold(gold)


@pytest.mark.parametrize("gold", ["1000", "-1", "2.5", "x", "", "٣"])
def test_a_gold_that_is_no_such_integer_is_an_error(gold):
    assert not is_integer_gold(gold)
    assert grade_answer(r"\boxed{33}", gold, "integer") == ("error", "33")


def test_what_was_extracted():
    assert settle_integer(r"\boxed{12}, \boxed{\text{033}}", "33") == ("correct", r"\text{033}")
    assert settle_integer("The answer is 033.", "33") == ("correct", "033")


@given(
    st.integers(0, 999), st.integers(0, 999), st.sampled_from(["{}", "{:03d}", "{:,}", "${}$", r"\text{{{}}}", "{}."])
)
def test_exactly_equal_integers_are_correct(answer, gold, form):
    status = settle_integer(r"\boxed{" + form.format(answer) + "}", str(gold)).status
    assert status == ("correct" if answer == gold else "wrong")


@given(st.text(), st.integers(0, 999))
def test_settling_never_raises(text, gold):
    for whole in (text, f"\\boxed{{{text}}}", f"the answer is {text}"):
        verdict = settle_integer(whole, str(gold))
        assert isinstance(verdict, str) or verdict.status in ("correct", "wrong", "no_answer")
