from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_sample import t_interval
from scipy import stats
from student_t import critical_t, two_sided_p

from ict_core.statistics import over_runs
from ict_core.statistics._intervals import student


def test_by_hand():
    # 1, 2, 3: SD 1, standard error 1/sqrt(3), t(0.975, 2) = 4.302653; t = 2 sqrt(3) has p 0.0741799
    interval = over_runs([1, 2, 3])
    assert interval.mean == 2 and interval.df == 2 and interval.se == pytest.approx(1 / sqrt(3))
    assert interval.high - interval.mean == pytest.approx(4.302653 / sqrt(3), rel=1e-6)
    assert interval.mean - interval.low == pytest.approx(4.302653 / sqrt(3), rel=1e-6)
    assert interval.p == pytest.approx(0.0741799, rel=1e-5)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=12), st.sampled_from([0.8, 0.95, 0.99]))
def test_agrees_with_the_oracle(thousandths, level):
    values = np.array(thousandths) / 1000
    interval = over_runs(values, level)
    if len(set(thousandths)) == 1:
        assert isnan(interval.low) and isnan(interval.high) and isnan(interval.p)
        return
    mean = sum(values) / len(values)
    error = sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))
    half = critical_t(level, len(values) - 1) * error
    assert (interval.low, interval.high) == pytest.approx((mean - half, mean + half), rel=1e-9, abs=1e-12)
    assert interval.p == pytest.approx(two_sided_p(mean / error, len(values) - 1), rel=1e-7, abs=1e-12)


def test_many_samples_at_once():
    values = np.random.default_rng(2).normal(0.2, 1, size=(3, 2, 5))
    values[1, 0] = 0.25
    usual = np.ones((3, 2), dtype=bool)
    usual[1, 0] = False
    found, oracle = over_runs(values), stats.ttest_1samp(values[usual], 0, axis=-1)
    limits = oracle.confidence_interval()
    for ours, theirs in ((found.low, limits.low), (found.high, limits.high), (found.p, oracle.pvalue)):
        assert ours.shape == (3, 2) and ours[usual] == pytest.approx(theirs, rel=1e-9)
    assert isnan(found.low[1, 0]) and found.mean[1, 0] == 0.25 and not np.isnan(found.low[usual]).any()


def test_one_value_and_equal_values_have_no_interval():
    for values in ([0.3], [0.3, 0.3, 0.3], [0.1 + 0.2, 0.3]):
        interval = over_runs(values)
        assert interval.mean == pytest.approx(0.3)
        assert all(map(isnan, (interval.low, interval.high, interval.se, interval.df, interval.p)))


def test_a_variance_that_is_rounding_is_none():
    assert isnan(student(0.5, 1e-30, 3).se) and student(0.5, 1e-20, 3).se == pytest.approx(1e-10)
    assert isnan(student(5e5, 1e-20, 3, scale=1e6).se)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [[1.0, float("inf")]], 1.0])
def test_what_is_no_sample_is_refused(values):
    with pytest.raises(ValueError, match="finite"):
        over_runs(values)


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0]])
def test_a_level_outside_its_range_is_refused(values):
    with pytest.raises(ValueError, match="95"):
        over_runs(values, level=95)


def test_one_sample_in_plain_numbers():
    found, oracle = t_interval([0.2, 0.5, 0.4]), over_runs([0.2, 0.5, 0.4])
    assert (found.mean, found.low, found.high, found.n) == (oracle.mean, oracle.low, oracle.high, 3)
    with pytest.raises(ValueError, match="list"):
        t_interval([[0.2, 0.5]])


def test_covers_as_often_as_it_says():
    found = over_runs(np.random.default_rng(5).normal(size=(4000, 3)))
    assert np.mean((found.low <= 0) & (found.high >= 0)) == pytest.approx(0.95, abs=0.015)  # four Monte-Carlo errors
