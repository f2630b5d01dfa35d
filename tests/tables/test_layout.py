import pandas as pd
import pytest

from ict_core.tables import layout

NAN = float("nan")


@pytest.mark.parametrize(
    ("share", "text"), [(0.2345, "23.4"), (0.0, "0.0"), (-0.0001, "0.0"), (-0.25, "−25.0"), (1.0, "100.0"), (NAN, "—")]
)
def test_percent(share, text):
    assert layout.percent(share) == text


def test_a_rounded_zero_has_no_minus():
    assert layout.percent(-0.0001, signed=True) == "+0.0"


def test_intervals():
    assert layout.percent_interval(0.234, 0.203, 0.265) == "23.4 ± 3.1"
    assert layout.percent_interval(-0.02, -0.05, 0.01, signed=True) == "−2.0 ± 3.0"
    assert layout.percent_interval(0.234, NAN, NAN) == "23.4 ± —"


def test_what_is_rare_is_not_nothing():
    assert [layout.rare_percent(s) for s in (0.0, 0.0001, 0.001)] == ["0.0", "<0.1", "0.1"]


def test_p_values():
    assert [layout.p_value(p) for p in (0.0004, 0.0123, 1.0, NAN)] == ["<0.001", "0.012", "1.000", "—"]


def test_seeds_in_words():
    words = [layout.seed_range(pd.Series(s, dtype=int)) for s in ([], [1], [3, 3], [2, 3])]
    assert words == ["no training seeds", "1 training seed", "3 training seeds", "2 to 3 training seeds"]
