"""The normal forms of questions; the searches for shared n-grams and similar questions, against all pairs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ict_core.contamination.overlap import SIMILAR, but_for_numbers, overlapping, shingles, similar_pairs, tokens, words

THIRTEEN = "a b c d e f g h i j k l m"


def test_case_whitespace_and_punctuation_do_not_count_but_signs_and_the_decimal_point_do():
    assert tokens("What's  $x_1$\n+ \\frac{1}{2}, or 3.50?") == (
        *("what", "s", "x", "1", "+", "frac", "{", "1", "}", "{", "2", "}", "or", "3.50"),
    )
    assert tokens("WHAT IS IT") == tokens("“What is it?”")
    assert tokens("ﬁve ＋ ５") == tokens("five + 5")
    assert len({tokens(text) for text in ("z + 1", "z - 1", "z 1", "z = 1", "z + 1.5", "z + 15")}) == 6


def test_signs_and_numbers_may_be_left_out():
    assert words("z^4 - z^2 + 1 = 0") == ("z", "4", "z", "2", "1", "0")
    assert but_for_numbers("Ann has 42 pens, gets 1.5 more") == but_for_numbers("Ann has 7 pens, gets 300 more")
    assert but_for_numbers("Ann has 42 pens") != but_for_numbers("Ben has 42 pens")


@settings(max_examples=40)
@given(st.text())
def test_a_normalised_text_is_its_own_normal_form(text):
    assert tokens(" ".join(tokens(text))) == tokens(text)


@pytest.mark.parametrize(
    ("question", "training", "found"),
    [
        (f"{THIRTEEN} y z", f"x {THIRTEEN.upper()}!", True),  # 13 words in a row
        (f"{THIRTEEN} y z", f"x {THIRTEEN[:-2]} x m", False),  # 12 words in a row
        ("a b c d e f g h", "x a b c d e f g h y", True),  # a question of 8 words, whole
        ("a b c d e f g h", "x a b c d e f g y h", False),
        ("+ - = a b c d e f g", "a b c d e f g", None),  # 7 words; signs are none
    ],
)
def test_an_n_gram_is_thirteen_words_or_a_shorter_question(question, training, found):
    assert overlapping([question], [training]) == [found]


def test_an_n_gram_of_more_than_ten_training_questions_is_boilerplate():
    assert overlapping([THIRTEEN], [f"{THIRTEEN} {i}" for i in range(10)]) == [True]
    assert overlapping([THIRTEEN], [f"{THIRTEEN} {i}" for i in range(11)]) == [False]
    assert overlapping([THIRTEEN], [" ".join([THIRTEEN] * 11)]) == [True]  # eleven times in one question


def test_shingles_are_stretches_of_five_characters():
    assert shingles("Ab, CDE!") == {"ab cd", "b cde"}
    assert shingles("ab") == {"ab"} and shingles("?") == {""}


def test_similarity_by_hand():
    left, right = [frozenset("abcdefgh")], [frozenset("abcdefghij"), frozenset("abcdefghijk"), frozenset("xyz")]
    assert similar_pairs(left, right, 0.8) == [(0, 0, 0.8)]
    assert similar_pairs(left, right, 1.0) == []


SETS = st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1), max_size=8)


@pytest.mark.slow
@given(SETS, SETS, st.sampled_from([0.3, 0.5, 2 / 3, 0.75, SIMILAR, 1.0]))
def test_no_pair_is_missed_and_none_is_made_up(left, right, bound):
    shares = [(i, j, len(a & b) / len(a | b)) for i, a in enumerate(left) for j, b in enumerate(right)]
    assert similar_pairs(left, right, bound) == [pair for pair in shares if pair[2] >= bound]
