from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from student_t import critical_t, two_sided_p

from ict_core.errors import UserError
from ict_core.statistics import stratified_t


def test_by_hand():
    # means 2 and 6, s^2/S 1/3 and 2/2; a quarter of each: 1/12 + 1/4 = 1/3
    found = stratified_t([np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0])])
    assert found.mean == 4 and found.se == pytest.approx(sqrt(1 / 3))
    df = (1 / 3) ** 2 / ((1 / 12) ** 2 / 2 + (1 / 4) ** 2)
    assert found.df == pytest.approx(df)
    assert found.high - 4 == pytest.approx(critical_t(0.95, df) * sqrt(1 / 3))
    assert found.p == pytest.approx(two_sided_p(4 * sqrt(3), df))


@settings(deadline=None, max_examples=40)  # a busy machine is no failure
@given(st.integers(2, 9), st.integers(2, 9), st.integers(0, 1000))
def test_two_strata_agree_with_welch(first, second, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=first), 3 * rng.normal(size=second)
    found, welch = stratified_t([a, b]), stats.ttest_ind(a, -b, equal_var=False)
    assert found.df == pytest.approx(welch.df, rel=1e-9) and found.p == pytest.approx(welch.pvalue, rel=1e-8)


def test_one_stratum_is_the_paired_t_test():
    values = np.array([0.1, 0.4, -0.2])
    assert stratified_t([values]).p == pytest.approx(stats.ttest_1samp(values, 0).pvalue)


def test_a_stratum_of_one_seed_or_no_spread_have_no_interval():
    for strata in ([[0.1, 0.3], [0.2]], [[0.2, 0.2], [0.2, 0.2]]):
        found = stratified_t([np.array(s) for s in strata])
        assert found.mean == pytest.approx(0.2) and isnan(found.low) and isnan(found.p)


def test_one_stratum_without_spread_leaves_the_others():
    found = stratified_t([np.array([0.1, 0.3]), np.array([0.2, 0.2])])
    assert found.se == pytest.approx(sqrt(0.01 / 4)) and found.df == pytest.approx(1)


@pytest.mark.parametrize("strata", [[], [[]], [[[1.0, 2.0]]]])
def test_what_is_no_sample_is_refused(strata):
    with pytest.raises(ValueError, match="values in each stratum"):
        stratified_t([np.array(s) for s in strata])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_of_a_run_that_is_not_finite_is_told(value):
    with pytest.raises(UserError, match="finite values"):
        stratified_t([np.array([0.1, 0.2]), np.array([1.0, value])])
