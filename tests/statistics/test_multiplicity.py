from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ict_core.statistics import holm
from ict_core.statistics._deciding import benjamini_hochberg


def holm_by_hand(p):
    """Walk up from the smallest p; each is multiplied by how many are left and never falls below the one before."""
    adjusted, running = [0.0] * len(p), 0.0
    for left, i in zip(range(len(p), 0, -1), sorted(range(len(p)), key=p.__getitem__), strict=True):
        running = max(running, min(1.0, left * p[i]))
        adjusted[i] = running
    return adjusted


def benjamini_hochberg_by_hand(p):
    """Walk down from the largest p; each is multiplied by tests / rank and never rises above the one before."""
    adjusted, running = [0.0] * len(p), 1.0
    for rank, i in zip(range(len(p), 0, -1), sorted(range(len(p)), key=p.__getitem__, reverse=True), strict=True):
        running = min(running, p[i] * len(p) / rank)
        adjusted[i] = running
    return adjusted


BOTH = pytest.mark.parametrize("correct", [holm, benjamini_hochberg])


def test_a_known_family():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # 0.005 * 4/1, 0.01 * 4/2, 0.03 * 4/3, 0.04 * 4/4
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])


@settings(deadline=None, max_examples=30)  # the oracle takes half a second an example
@given(st.lists(st.floats(0, 1), max_size=20))
def test_agrees_with_the_oracle(p):
    assert holm(p) == pytest.approx(holm_by_hand(p), rel=1e-12, abs=1e-300)
    assert benjamini_hochberg(p) == pytest.approx(benjamini_hochberg_by_hand(p), rel=1e-12, abs=1e-300)


def test_a_test_that_could_not_be_made_still_counts():
    adjusted = holm([0.01, np.nan, 0.02])
    assert adjusted[[0, 2]] == pytest.approx([0.03, 0.04]) and isnan(adjusted[1])
    adjusted = benjamini_hochberg([0.01, np.nan, 0.02])
    assert adjusted[[0, 2]] == pytest.approx([0.03, 0.03]) and isnan(adjusted[1])


@BOTH
def test_a_family_without_any_test_has_none(correct):
    assert np.isnan(correct([np.nan, np.nan])).all() and correct([]).shape == (0,)


@BOTH
@pytest.mark.parametrize("p", [[-0.1], [0.5, 1.1], [np.nan, 2]])
def test_what_is_no_p_value_is_refused(correct, p):
    with pytest.raises(ValueError, match="p values"):
        correct(p)
