import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ict_core.statistics import welch


@pytest.mark.slow
@given(st.integers(2, 8), st.integers(2, 8), st.floats(0.1, 5), st.integers(0, 1000))
def test_agrees_with_scipy(n, m, sd, seed):
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(0.5, sd, (3, n)), rng.normal(0, 1, (3, m))
    found = welch(ours, theirs)
    reference = stats.ttest_ind(ours, theirs, axis=-1, equal_var=False)
    limits = reference.confidence_interval()
    assert found.p == pytest.approx(reference.pvalue) and found.df == pytest.approx(reference.df)
    assert found.low == pytest.approx(limits.low) and found.high == pytest.approx(limits.high)


def test_one_arm_without_spread_is_a_one_sample_test():
    ours = np.array([0.1, 0.3, 0.8])
    found = welch(ours, np.full(4, 0.2))
    assert found.p == pytest.approx(stats.ttest_1samp(ours, 0.2).pvalue) and found.df == pytest.approx(2)


@pytest.mark.parametrize(("ours", "theirs"), [([0.1], [0.2, 0.4]), ([0.1, 0.1], [0.2, 0.2]), ([0.1], [0.2])])
def test_no_interval_without_spread_or_with_one_run(ours, theirs):
    found = welch(np.array(ours), np.array(theirs))
    assert found.mean == pytest.approx(np.mean(ours) - np.mean(theirs))
    assert np.isnan([found.se, found.low, found.high, found.p]).all()
