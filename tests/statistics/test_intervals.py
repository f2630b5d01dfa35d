"""Student's intervals over runs, over problems and over strata, and Wilson's, against oracles that share no code."""

from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.api import OLS
from student_t import critical_t, two_sided_p

from ict_core.errors import UserError
from ict_core.statistics.intervals import (
    over_clusters,
    over_problems,
    over_runs,
    satterthwaite,
    stratified_t,
    student,
    wilson,
)


def test_over_runs_by_hand():
    # 1, 2, 3: SD 1, standard error 1/sqrt(3), t(0.975, 2) = 4.302653; t = 2 sqrt(3) has p 0.0741799
    interval = over_runs([1, 2, 3])
    assert interval.mean == 2 and interval.df == 2 and interval.se == pytest.approx(1 / sqrt(3))
    assert interval.high - interval.mean == pytest.approx(4.302653 / sqrt(3), rel=1e-6)
    assert interval.mean - interval.low == pytest.approx(4.302653 / sqrt(3), rel=1e-6)
    assert interval.p == pytest.approx(0.0741799, rel=1e-5)


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=12))
def test_over_runs_agrees_with_the_oracle(thousandths):
    values = np.array(thousandths) / 1000
    interval = over_runs(values)
    if len(set(thousandths)) == 1:
        assert isnan(interval.low) and isnan(interval.high) and isnan(interval.p)
        return
    mean = sum(values) / len(values)
    error = sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))
    half = critical_t(0.95, len(values) - 1) * error
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
    assert over_problems([values]).low[usual] == pytest.approx(limits.low)  # of one benchmark, with problems for runs


def test_one_value_and_equal_values_have_no_interval():
    for values in ([0.3], [0.3, 0.3, 0.3], [0.1 + 0.2, 0.3]):
        for interval in (over_runs(values), over_problems([np.array(values)]), stratified_t([values, [0.3, 0.3]])):
            assert interval.mean == pytest.approx(0.3)
            assert all(map(isnan, (interval.low, interval.high, interval.se, interval.df, interval.p)))


def test_a_variance_that_is_rounding_is_none():
    assert isnan(student(0.5, 1e-30, 3).se) and student(0.5, 1e-20, 3).se == pytest.approx(1e-10)
    assert isnan(student(5e5, 1e-20, 3, scale=1e6).se)
    large = 1e9 + np.array([0, 1e-6, 0, 1e-6])  # the spread is of the last bits
    assert isnan(over_clusters([large], [np.arange(4)]).se) and isnan(over_problems([large]).se)


def test_without_any_variance_there_are_no_degrees_of_freedom():
    found = satterthwaite(np.array([0.0, 3.0, 0.0]), np.array([0.0, 2.0, 0.0]))
    assert found[1] == 4.5 and np.isnan(found[[0, 2]]).all()


def test_over_problems_by_hand():
    # (0, 1): variance of the mean 0.5/2; (0, 0, 3): 3/3; a quarter of each; df 0.3125^2 / (0.0625^2/1 + 0.25^2/2)
    found = over_problems([np.array([0.0, 1.0]), np.array([0.0, 0.0, 3.0])])
    assert found.mean == pytest.approx(0.75) and found.se == pytest.approx(sqrt(0.3125))
    assert found.df == pytest.approx(0.3125**2 / (0.0625**2 + 0.25**2 / 2))
    half = critical_t(0.95, float(found.df)) * sqrt(0.3125)
    assert (found.low, found.high) == pytest.approx((0.75 - half, 0.75 + half))


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5)), min_size=4, max_size=30), st.integers(2, 28))
def test_clusters_agree_with_another_library_and_with_welch(pairs, cut):
    cut = min(cut, len(pairs) - 2)
    blocks = [np.array([x / 8 for x, _ in part]) for part in (pairs[:cut], pairs[cut:])]
    names = [np.array([f"c{c}" for _, c in part], dtype=object) for part in (pairs[:cut], pairs[cut:])]
    free = [len(set(n)) - 1 for n in names]
    found = over_clusters(blocks, names)
    assert found.mean == pytest.approx((blocks[0].mean() + blocks[1].mean()) / 2)
    if 0 in free:
        assert isnan(found.se) and isnan(found.low) and isnan(found.high)
        return
    robust = []
    for values, of in zip(blocks, names, strict=True):
        groups = {"groups": np.unique(of, return_inverse=True)[1]}
        robust.append(OLS(values, np.ones(values.size)).fit(cov_type="cluster", cov_kwds=groups).bse[0])
    parts = [(se / 2) ** 2 for se in robust]
    if sum(parts) < 1e-20:
        assert isnan(found.low)
        return
    df = sum(parts) ** 2 / sum(v**2 / f for v, f in zip(parts, free, strict=True))
    assert found.se == pytest.approx(sqrt(sum(parts))) and found.df == pytest.approx(df)
    half = critical_t(0.95, df) * sqrt(sum(parts))
    assert (found.low, found.high) == (pytest.approx(found.mean - half), pytest.approx(found.mean + half))


def test_the_same_clusters_in_several_benchmarks_are_not_counted_twice():
    values, names = np.array([0.0, 1.0, 0.25, 0.5, -0.5, 0.75]), np.array(["a", "a", "b", "b", "c", "d"])
    one = over_clusters([values], [names])
    twice = over_clusters([values, values], [names, names], across=True)  # a benchmark and its translation
    for name in ("mean", "se", "df", "low", "high"):
        assert float(getattr(twice, name)) == pytest.approx(float(getattr(one, name)), rel=1e-12)
    assert over_clusters([values, values], [names, names]).se == pytest.approx(one.se / 2**0.5, rel=1e-12)
    assert isnan(over_clusters([values, values], [np.array(["a"] * 6)] * 2, across=True).se)


def test_strata_by_hand():
    # means 2 and 6, s^2/S 1/3 and 2/2; a quarter of each: 1/12 + 1/4 = 1/3
    found = stratified_t([np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0])])
    assert found.mean == 4 and found.se == pytest.approx(sqrt(1 / 3))
    df = (1 / 3) ** 2 / ((1 / 12) ** 2 / 2 + (1 / 4) ** 2)
    assert found.df == pytest.approx(df)
    assert found.high - 4 == pytest.approx(critical_t(0.95, df) * sqrt(1 / 3))
    assert found.p == pytest.approx(two_sided_p(4 * sqrt(3), df))
    one_varies = stratified_t([np.array([0.1, 0.3]), np.array([0.2, 0.2])])
    assert one_varies.se == pytest.approx(sqrt(0.01 / 4)) and one_varies.df == pytest.approx(1)


@settings(max_examples=40)
@given(st.integers(2, 9), st.integers(2, 9), st.integers(0, 1000), st.sampled_from([0.95, 0.8]))
def test_two_benchmarks_or_strata_agree_with_welch(first, second, seed, level):
    rng = np.random.default_rng(seed)
    a, b = rng.random(first), 3 * rng.random(second)
    welch = stats.ttest_ind(a, -b, equal_var=False)  # a - (-b) is twice the mean of the two means
    for found, of in ((over_problems([a, b]), 0.95), (stratified_t([a, b], level), level)):
        limits = welch.confidence_interval(of)
        assert found.df == pytest.approx(welch.df, rel=1e-9) and found.p == pytest.approx(welch.pvalue, rel=1e-8)
        assert (2 * found.low, 2 * found.high) == pytest.approx((limits.low, limits.high), rel=1e-9, abs=1e-12)


def test_wilson_by_hand():
    # 8 of 10: (0.8 + z^2/20 +- z sqrt(0.16/10 + z^2/400)) / (1 + z^2/10)
    z = 1.959963984540054
    half = z * sqrt(0.8 * 0.2 / 10 + z * z / 400)
    found = wilson([1, 1, 1, 1, 1, 1, 1, 1, 0, 0])
    centre, scale = 0.8 + z * z / 20, 1 + z * z / 10
    assert found.mean == 0.8 and isnan(found.se)
    assert (found.low, found.high) == pytest.approx(((centre - half) / scale, (centre + half) / scale))
    none_right = wilson(np.zeros((2, 30)))
    assert none_right.low == pytest.approx([0, 0], abs=1e-12) and (none_right.high > 0.05).all()


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [[1.0, float("inf")]], 1.0])
def test_what_is_no_sample_is_refused(values):
    with pytest.raises(ValueError, match="finite"):
        over_runs(values)
    with pytest.raises(ValueError, match="one sample a problem"):
        wilson(values)


def test_what_is_no_stratum_is_refused():
    for strata in ([], [[]], [[[1.0, 2.0]]]):
        with pytest.raises(ValueError, match="values in each stratum"):
            stratified_t([np.array(s) for s in strata])
    for value in (np.nan, np.inf):
        with pytest.raises(UserError, match="finite values"):
            stratified_t([np.array([0.1, 0.2]), np.array([1.0, value])])
