from math import isnan, sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from student_t import critical_t, two_sided_p

from ict_core.errors import UserError
from ict_core.statistics.paired import paired_t


def arm(values, name, seeds=None):
    return pd.Series(values, index=range(1, len(values) + 1) if seeds is None else seeds, name=name, dtype=float)


def test_by_hand():
    # differences 0.1, 0.2, 0.3: mean 0.2, SD 0.1, t = 0.2 / (0.1 / sqrt 3) = 3.4641 with 2 degrees of freedom
    test = paired_t(arm([0.5, 0.7, 0.6], "a"), arm([0.4, 0.5, 0.3], "b"))
    assert test.difference == pytest.approx(0.2) and test.seeds == 3
    assert test.p == pytest.approx(0.0741799, rel=1e-5)
    assert test.high - test.difference == pytest.approx(4.302653 * 0.1 / sqrt(3), rel=1e-6)
    assert test.correlation == pytest.approx(0.5)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=2, max_size=10))
def test_agrees_with_the_oracle(thousandths):
    a, b = (np.array(values) / 1000 for values in zip(*thousandths, strict=True))
    d = a - b
    assume(np.ptp(d) > 1e-9)
    n, mean = len(d), sum(d) / len(d)
    error = sqrt(sum((x - mean) ** 2 for x in d) / (n - 1) / n)
    test = paired_t(arm(a, "a"), arm(b, "b"))
    half = critical_t(0.95, n - 1) * error
    assert test.p == pytest.approx(two_sided_p(mean / error, n - 1), rel=1e-7, abs=1e-12)
    assert (test.low, test.high) == pytest.approx((mean - half, mean + half), rel=1e-7, abs=1e-10)


def test_pairs_by_seed_whatever_the_order():
    ours, theirs = arm([0.5, 0.7, 0.6], "a"), arm([0.4, 0.5, 0.3], "b")
    assert paired_t(ours.iloc[[2, 0, 1]], theirs.iloc[[1, 2, 0]]) == paired_t(ours, theirs)


@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_equal_differences_have_no_test(gap):
    test = paired_t(arm([0.1 + gap, 0.2 + gap, 0.4 + gap], "a"), arm([0.1, 0.2, 0.4], "b"))
    assert test.difference == pytest.approx(gap) and test.seeds == 3
    assert all(map(isnan, (test.low, test.high, test.p)))
    assert test.correlation == pytest.approx(1)


def test_one_seed_has_no_test():
    test = paired_t(arm([0.5], "a"), arm([0.2], "b"))
    assert test.difference == pytest.approx(0.3) and test.seeds == 1
    assert all(map(isnan, (test.low, test.high, test.p, test.correlation)))


def test_two_seeds_have_a_test_but_no_correlation():
    test = paired_t(arm([0.5, 0.7], "a"), arm([0.2, 0.3], "b"))
    assert 0 < test.p < 1 and isnan(test.correlation)


def test_an_arm_of_equal_runs_has_a_test_but_no_correlation():
    test = paired_t(arm([0.5, 0.7, 0.4], "a"), arm([0.2, 0.2, 0.2], "b"))
    assert 0 < test.p < 1 and isnan(test.correlation)


def test_different_seeds_are_named_with_their_arm():
    with pytest.raises(UserError, match=r"small/grpo lacks seeds \[2\]; small/ict-10 lacks seeds \[4\]"):
        paired_t(arm([1, 2, 3], "small/ict-10", [1, 2, 3]), arm([1, 2, 3], "small/grpo", [1, 3, 4]))


def test_a_seed_that_stands_twice_and_an_empty_arm_are_named():
    with pytest.raises(UserError, match=r"small/grpo: seeds \[1\]"):
        paired_t(arm([1, 2], "small/ict-10"), arm([1, 2], "small/grpo", [1, 1]))
    with pytest.raises(UserError, match="small/grpo: has no runs"):
        paired_t(arm([1, 2], "small/ict-10"), arm([], "small/grpo"))


def test_rejects_as_often_as_it_says():
    rng = np.random.default_rng(7)
    p = [paired_t(arm(a, "a"), arm(b, "b")).p for a, b in rng.normal(size=(1500, 2, 3))]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.02)
