from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import ttost_paired
from student_t import two_sided_p

from ict_core.errors import UserError
from ict_core.statistics import over_runs, two_one_sided


def test_by_hand():
    # mean 0.01, standard error 0.005, 2 df, limits +-0.02: t = 6 and -2; the larger p is P(t < -2)
    assert two_one_sided(0.01, 0.005, 2, -0.02, 0.02) == pytest.approx((1 - 2 / sqrt(2 + 4)) / 2)
    assert two_one_sided(-0.01, 0.005, 2, -0.02, 0.02) == pytest.approx(two_sided_p(2, 2) / 2)
    assert two_one_sided(0.03, 0.005, 2, -0.02, 0.02) == pytest.approx(1 - two_sided_p(2, 2) / 2)


@settings(deadline=None)  # a busy machine is no failure
@given(st.integers(2, 12), st.integers(0, 1000), st.floats(0.001, 1))
def test_agrees_with_statsmodels(seeds, seed, margin):
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(0.1, 0.2, (2, seeds))
    found = over_runs(ours - theirs)
    oracle = ttost_paired(ours, theirs, -margin, margin)[0]
    assert two_one_sided(found.mean, found.se, found.df, -margin, margin) == pytest.approx(oracle, rel=1e-8)


def test_many_at_once_and_none_where_there_is_no_error():
    found = two_one_sided([0.0, 0.0], [0.01, np.nan], [2, 2], -0.02, 0.02)
    assert found[0] == pytest.approx(two_sided_p(2, 2) / 2) and isnan(found[1])


def test_turned_limits_are_refused():
    with pytest.raises(UserError, match="limits"):
        two_one_sided(0.0, 0.1, 2, 0.02, -0.02)


def test_on_the_margin_it_errs_as_often_as_it_says():
    found = over_runs(np.random.default_rng(4).normal(0.02, 0.005, (4000, 5)))
    p = two_one_sided(found.mean, found.se, found.df, -0.02, 0.02)
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.015)
