"""Corrections for many tests, and the tests of equivalence, against procedures written out by hand and statsmodels."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import ttost_paired
from student_t import two_sided_p

from ict_core.errors import UserError
from ict_core.statistics.deciding import benjamini_hochberg, holm, two_one_sided
from ict_core.statistics.intervals import over_runs


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


def test_a_known_family():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # 0.005 * 4/1, 0.01 * 4/2, 0.03 * 4/3, 0.04 * 4/4
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])


@settings(max_examples=30)  # the oracle takes half a second an example
@given(st.lists(st.floats(0, 1), max_size=20))
def test_corrections_agree_with_the_oracle(p):
    assert holm(p) == pytest.approx(holm_by_hand(p), rel=1e-12, abs=1e-300)
    assert benjamini_hochberg(p) == pytest.approx(benjamini_hochberg_by_hand(p), rel=1e-12, abs=1e-300)


def test_a_test_that_could_not_be_made_still_counts():
    p = [0.01, np.nan, 0.02]
    assert holm(p) == pytest.approx([0.03, np.nan, 0.04], nan_ok=True)
    assert benjamini_hochberg(p) == pytest.approx([0.03, np.nan, 0.03], nan_ok=True)
    assert np.isnan([holm([np.nan, np.nan]), benjamini_hochberg([np.nan, np.nan])]).all()


def test_equivalence_by_hand():
    # mean 0.01, standard error 0.005, 2 df, limits +-0.02: t = 6 and -2; the larger p is P(t < -2)
    assert two_one_sided(0.01, 0.005, 2, -0.02, 0.02) == pytest.approx((1 - 2 / sqrt(2 + 4)) / 2)
    assert two_one_sided(-0.01, 0.005, 2, -0.02, 0.02) == pytest.approx(two_sided_p(2, 2) / 2)
    assert two_one_sided(0.03, 0.005, 2, -0.02, 0.02) == pytest.approx(1 - two_sided_p(2, 2) / 2)
    many = two_one_sided([0.0, 0.0], [0.01, np.nan], [2, 2], -0.02, 0.02)
    assert many == pytest.approx([two_sided_p(2, 2) / 2, np.nan], nan_ok=True)
    with pytest.raises(UserError, match="limits"):
        two_one_sided(0.0, 0.1, 2, 0.02, -0.02)


@given(st.integers(2, 12), st.integers(0, 1000), st.floats(0.001, 1))
def test_equivalence_agrees_with_statsmodels(seeds, seed, margin):
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(0.1, 0.2, (2, seeds))
    found = over_runs(ours - theirs)
    oracle = ttost_paired(ours, theirs, -margin, margin)[0]
    assert two_one_sided(found.mean, found.se, found.df, -margin, margin) == pytest.approx(oracle, rel=1e-8)
