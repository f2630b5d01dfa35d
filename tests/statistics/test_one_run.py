from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from student_t import critical_t

from ict_core.statistics import over_problems, wilson


def test_by_hand():
    # (0, 1): variance of the mean 0.5/2; (0, 0, 3): 3/3; a quarter of each; df 0.3125^2 / (0.0625^2/1 + 0.25^2/2)
    found = over_problems([np.array([0.0, 1.0]), np.array([0.0, 0.0, 3.0])])
    assert found.mean == pytest.approx(0.75) and found.se == pytest.approx(sqrt(0.3125))
    assert found.df == pytest.approx(0.3125**2 / (0.0625**2 + 0.25**2 / 2))
    half = critical_t(0.95, float(found.df)) * sqrt(0.3125)
    assert (found.low, found.high) == pytest.approx((0.75 - half, 0.75 + half))


def test_one_benchmark_is_the_t_interval():
    values = np.random.default_rng(1).random((4, 9))
    found, limits = over_problems([values]), stats.ttest_1samp(values, 0, axis=-1).confidence_interval(0.95)
    assert found.low == pytest.approx(limits.low) and found.high == pytest.approx(limits.high)


@settings(deadline=None, max_examples=40)  # a busy machine is no failure
@given(st.integers(2, 9), st.integers(2, 9), st.integers(0, 1000))
def test_two_benchmarks_agree_with_welch(first, second, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.random(first), 3 * rng.random(second)
    found = over_problems([a, b], 0.9)
    welch = stats.ttest_ind(a, -b, equal_var=False)  # a - (-b) is twice the mean of the two means
    limits = welch.confidence_interval(0.9)
    assert found.df == pytest.approx(welch.df, rel=1e-9)
    assert (2 * found.low, 2 * found.high) == pytest.approx((limits.low, limits.high), rel=1e-9, abs=1e-12)


def test_one_problem_or_no_spread_have_no_interval():
    for blocks in ([np.array([0.4])], [np.array([0.4]), np.array([0.3, 0.5])], [np.full(5, 0.4)]):
        found = over_problems(blocks)
        assert found.mean == pytest.approx(0.4) and isnan(found.low) and isnan(found.high)


@pytest.mark.parametrize("blocks", [[], [np.array([])], [np.array([0.1, np.nan])], [np.zeros((2, 3)), np.zeros(3)]])
def test_what_is_no_sample_is_refused(blocks):
    with pytest.raises(ValueError, match="benchmark"):
        over_problems(blocks)


def test_wilson_by_hand():
    # 8 of 10: (0.8 + z^2/20 +- z sqrt(0.16/10 + z^2/400)) / (1 + z^2/10)
    z = 1.959963984540054
    half = z * sqrt(0.8 * 0.2 / 10 + z * z / 400)
    found = wilson([1, 1, 1, 1, 1, 1, 1, 1, 0, 0])
    centre, scale = 0.8 + z * z / 20, 1 + z * z / 10
    assert found.mean == 0.8 and isnan(found.se)
    assert (found.low, found.high) == pytest.approx(((centre - half) / scale, (centre + half) / scale))


def test_wilson_of_none_right_begins_at_zero():
    found = wilson(np.zeros((2, 30)))
    assert found.low == pytest.approx([0, 0], abs=1e-12) and (found.high > 0.05).all()


@pytest.mark.parametrize("values", [[0.5, 1], [], 1])
def test_wilson_takes_yes_and_no_only(values):
    with pytest.raises(ValueError, match="one sample a problem"):
        wilson(values)
