import pandas as pd
import pytest

from ict_core.statistics import seed_range
from ict_core.tables import _layout as layout

NAN = float("nan")


@pytest.mark.parametrize(
    ("share", "text"), [(0.2345, "23.4"), (0.0, "0.0"), (-0.0001, "0.0"), (-0.25, "−25.0"), (1.0, "100.0"), (NAN, "—")]
)
def test_percent(share, text):
    assert layout.percent(share) == text


def test_a_rounded_zero_has_no_minus():
    assert layout.percent(-0.0001, signed=True) == "+0.0"


def test_thousands_are_set_apart():
    assert layout.number(1234567.8, 0) == "1,234,568"


@pytest.mark.parametrize("value", [0.125, 0.1225, 0.3335])
def test_the_last_bit_of_a_number_does_not_change_its_text(value):
    texts = {layout.percent(value * (1 + bits * 2.2e-16)) for bits in (-2, -1, 0, 1, 2)}
    assert len(texts) == 1


def test_symmetric_intervals():
    assert layout.percent_interval(0.234, 0.203, 0.265) == "23.4 ± 3.1"
    assert layout.percent_interval(-0.02, -0.05, 0.01, signed=True) == "−2.0 ± 3.0"


def test_limits_that_are_not_symmetric_are_printed():
    assert layout.percent_interval(0.1, 0.02, 0.35) == "10.0 (2–35)"
    assert layout.percent_interval(0.1, 0.02, 0.186) == "10.0 (2–19)"
    assert layout.percent_interval(0.1, -0.2, 0.186, signed=True) == "+10.0 (−20.0 to +18.6)"
    assert layout.percent_interval(0.1, 0.02, 0.184) == "10.0 ± 8.2"  # sides of 8.0 and 8.4 points


def test_intervals_that_are_not_there():
    assert layout.percent_interval(0.234, NAN, NAN) == "23.4 ± —"
    assert layout.percent_interval(NAN, NAN, NAN) == "—"
    assert layout.percent_range(NAN, NAN) == "—"
    assert layout.percent_range(-0.01, 0.05, signed=True) == "−1.0 to +5.0"


def test_what_is_rare_is_not_nothing():
    assert [layout.rare_percent(s) for s in (0.0, 0.0001, 0.001)] == ["0.0", "<0.1", "0.1"]


def test_p_values():
    assert [layout.p_value(p) for p in (0.0004, 0.0123, 1.0, NAN)] == ["<0.001", "0.012", "1.000", "—"]


def test_ranges_over_runs():
    assert layout.whole_range(pd.Series([100, 130, 130])) == "120 (100 to 130)"
    assert layout.whole_range(pd.Series([2.0, 2.0]), 1) == "2.0"
    assert layout.whole_range(pd.Series([NAN, NAN])) == "—"


def test_seeds_in_words():
    words = [seed_range(pd.Series(s, dtype=int)) for s in ([], [1], [3, 3], [2, 3])]
    assert words == ["no training seeds", "1 training seed", "3 training seeds", "2 to 3 training seeds"]
