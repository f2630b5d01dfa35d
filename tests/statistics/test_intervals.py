from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from student_t import critical_t

from ict_core.errors import UserError
from ict_core.statistics.intervals import t_interval


def test_by_hand():
    # 1, 2, 3: SD 1, standard error 1/sqrt(3), t(0.975, 2) = 4.302653
    interval = t_interval([1, 2, 3])
    assert interval.mean == 2 and interval.n == 3
    assert interval.high - interval.mean == pytest.approx(4.302653 / sqrt(3), rel=1e-6)
    assert interval.mean - interval.low == pytest.approx(4.302653 / sqrt(3), rel=1e-6)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=12), st.sampled_from([0.8, 0.95, 0.99]))
def test_agrees_with_the_oracle(thousandths, level):
    values = np.array(thousandths) / 1000
    interval = t_interval(values, level)
    if len(set(thousandths)) == 1:
        assert isnan(interval.low) and isnan(interval.high)
        return
    mean = sum(values) / len(values)
    error = sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))
    half = critical_t(level, len(values) - 1) * error
    assert (interval.low, interval.high) == pytest.approx((mean - half, mean + half), rel=1e-9, abs=1e-12)


def test_one_value_and_equal_values_have_no_interval():
    for values in ([0.3], [0.3, 0.3, 0.3], [0.1 + 0.2, 0.3]):
        interval = t_interval(values)
        assert interval.mean == pytest.approx(0.3) and isnan(interval.low) and isnan(interval.high)
        assert interval.n == len(values)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [[1.0, 2.0]], [float("inf")]])
def test_what_is_no_sample_is_refused(values):
    with pytest.raises(UserError, match="finite"):
        t_interval(values)


def test_a_level_outside_its_range_is_refused():
    with pytest.raises(UserError, match="95"):
        t_interval([1.0, 2.0], level=95)


def test_covers_as_often_as_it_says():
    rng = np.random.default_rng(5)
    covered = [i.low <= 0 <= i.high for i in map(t_interval, rng.normal(size=(4000, 3)))]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.015)  # about four Monte-Carlo errors
