"""What holds of all numbers, integers, letters and gold answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.grading.answers import grade_answer
from ict_core.grading.gold import LETTERS, refusal

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
INTEGERS = st.integers(-(10**6), 10**6)
NUMBERS = st.decimals(-(10**7), 10**7, places=2)


@pytest.mark.parametrize("kind", LEGAL)
def test_a_legal_gold_answer_is_graded_correct_against_itself_and_no_other_is_legal(kind):
    for gold in LEGAL[kind]:
        assert refusal(gold, kind) is None
        assert grade_answer(rf"\boxed{{{gold}}}", gold, kind).status == "correct"
    assert all(refusal(gold, kind) for gold in ILLEGAL[kind])


@pytest.mark.parametrize(
    ("kind", "golds"), [("integer", ["1000", "-1", "2.5", "x", "", "٣"]), ("number", ["", "x", "18 dozen", r"\frac12"])]
)
def test_a_gold_that_is_no_number_is_an_error(kind, golds):
    for gold in golds:
        assert grade_answer(r"\boxed{33}", gold, kind) == ("error", "33")


@given(
    st.integers(0, 999), st.integers(0, 999), st.sampled_from(["{}", "{:03d}", "{:,}", "${}$", r"\text{{{}}}", "{}."])
)
def test_exactly_equal_integers_are_correct(answer, gold, form):
    status = grade_answer(r"\boxed{" + form.format(answer) + "}", str(gold), "integer").status
    assert status == ("correct" if answer == gold else "wrong")


@given(NUMBERS, NUMBERS, st.sampled_from(["{:f}", "{:,f}", "${:,f}", "{:f} eggs", r"\text{{{:f}}}"]))
def test_exactly_equal_numbers_are_correct(answer, gold, form):
    text = form.format(answer)
    for whole in (f"#### {text}", f"\\boxed{{{text}}}"):
        assert grade_answer(whole, f"{gold:f}", "number").status == ("correct" if answer == gold else "wrong")
        assert grade_answer(whole, f"{answer:,f}", "number").status == "correct"
        assert grade_answer(whole, f"{answer + 1:f}", "number").status == "wrong"


@given(st.decimals(0, 10**4, places=3), st.sampled_from([("thousand", 3), ("million", 6), ("billion", 9)]))
def test_a_word_that_multiplies_is_a_power_of_ten(number, power):
    word, places = power
    assert grade_answer(f"#### {number:f} {word}", f"{number.scaleb(places):f}", "number").status == "correct"


@given(INTEGERS, INTEGERS, st.booleans(), st.sampled_from(["{}", "{:,}", "{:08d}", "{:03d}"]))
def test_exactly_equal_integers_are_correct_as_mathematics(answer, other, equal, form):
    gold = answer if equal else other
    status = grade_answer(rf"\boxed{{{form.format(answer)}}}", str(gold), "latex").status
    assert status == ("correct" if answer == gold else "wrong")


@given(st.text(), st.sampled_from(LETTERS))
def test_a_box_outweighs_any_text_before_it(text, gold):
    assert grade_answer(f"{text} \\boxed{{{gold}}}", gold, "choice") == ("correct", gold)


@given(st.text(st.characters(exclude_characters="\\{}")).map("{}7".format))
def test_a_gold_answer_is_correct_against_itself_in_a_box(gold):
    assert grade_answer(f"I think \\boxed{{{gold}}}", gold, "latex").status == "correct"
