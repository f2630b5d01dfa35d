from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from ict_core.grading._number import canonical, plain_separators, shifted, undress

pieces = st.sampled_from(
    [
        "1",
        "23",
        "456",
        ",",
        ".",
        "-",
        "\u2212",
        "$",
        "\\$",
        "{",
        "}",
        "\\",
        "\\text",
        "\\frac",
        "\\,",
        "\\!",
        "\\ ",
        " ",
    ]
    + ["{,}", "\u202f", "\n", "~", "*", "eggs", "\\(", "\\)", "%"]
)
markup = st.lists(pieces, max_size=12).map("".join)
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=3)


@given(st.one_of(st.text(), markup))
def test_undressing_twice_is_undressing_once(text):
    once = undress(text)
    assert undress(once) == once
    assert plain_separators(plain_separators(text)) == plain_separators(text)


@given(markup, st.text(" \t\n\u00a0", max_size=3))
def test_surrounding_space_does_not_matter(text, space):
    if not text.endswith("\\"):
        assert undress(space + text + space) == undress(text)


@given(decimals, decimals)
def test_forms_are_equal_where_numbers_are(one, other):
    assert (canonical(f"{one:f}") == canonical(f"{other:f}")) == (one == other)


@given(decimals)
def test_the_form_is_the_number_and_its_own_form(number):
    form = canonical(f"{number:f}")
    assert Decimal(form) == number
    assert canonical(form) == form
    assert canonical(f"{number:,f}") == canonical(undress(f"{number:,f}".replace(",", "{,}"))) == form


@given(decimals, st.integers(0, 12))
def test_a_shift_is_a_power_of_ten(number, places):
    assert shifted(canonical(f"{number:f}"), places) == canonical(f"{number.scaleb(places):f}")


@given(st.text())
def test_a_form_is_only_given_to_ascii_numerals(text):
    form = canonical(text)
    assert form is None or Decimal(text.replace(",", "").replace(" ", "")) == Decimal(form)
