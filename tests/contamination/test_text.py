"""The normal forms of questions."""

from hypothesis import given
from hypothesis import strategies as st

from ict_core.contamination._overlap import but_for_numbers, tokens, words


def test_case_whitespace_and_punctuation_do_not_count():
    assert tokens("What's  $x_1$\n+ \\frac{1}{2}, or 3.50?") == (
        *("what", "s", "x", "1", "+", "frac", "{", "1", "}", "{", "2", "}", "or", "3.50"),
    )
    assert tokens("WHAT IS IT") == tokens("“What is it?”")
    assert tokens("ﬁve ＋ ５") == tokens("five + 5")


def test_signs_and_the_decimal_point_count():
    assert len({tokens(text) for text in ("z + 1", "z - 1", "z 1", "z = 1", "z + 1.5", "z + 15")}) == 6


def test_words_leave_the_signs_out():
    assert words("z^4 - z^2 + 1 = 0") == ("z", "4", "z", "2", "1", "0")


def test_numbers_may_be_left_out():
    assert but_for_numbers("Ann has 42 pens, gets 1.5 more") == but_for_numbers("Ann has 7 pens, gets 300 more")
    assert but_for_numbers("Ann has 42 pens") != but_for_numbers("Ben has 42 pens")


@given(st.text())
def test_a_normalised_text_is_its_own_normal_form(text):
    assert tokens(" ".join(tokens(text))) == tokens(text)
