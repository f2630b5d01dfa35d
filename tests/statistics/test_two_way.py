from functools import partial
from math import inf, isnan, sqrt

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.anova import anova_lm
from student_t import critical_t

from ict_core.statistics.intervals import over_problems, over_runs, two_way, two_way_level, variance_parts

BOUNDLESS = partial(two_way, df_per_run=inf)  # Satterthwaite's degrees of freedom as they are

BY_HAND = np.array([[0.0, 2.0], [1.0, 5.0]])


def mean_squares(block):
    """(runs, problems, residual) by statsmodels' analysis of variance of the long table."""
    long = pd.DataFrame([{"run": r, "problem": p, "y": y} for r, row in enumerate(block) for p, y in enumerate(row)])
    table = anova_lm(smf.ols("y ~ C(run) + C(problem)", long).fit())
    return table["sum_sq"].to_numpy() / table["df"].to_numpy()


def crossed(rng, runs, problems, run_sd=1.0, problem_sd=1.0):
    block = rng.normal(0, run_sd, (runs, 1)) + rng.normal(0, problem_sd, (1, problems))
    return block + rng.normal(0, 0.3, (runs, problems))


def test_by_hand():
    # run means 1 and 3, problem means 0.5 and 3.5, residuals +-0.5: V_runs 2/2, V_problems 4.5/2, V_residual 1/4
    mean, of_runs, of_problems, residual = variance_parts([BY_HAND])
    assert (mean, of_runs, of_problems[0], residual[0]) == pytest.approx((2, 1, 2.25, 0.25))
    found = two_way([BY_HAND])
    assert found.mean == 2 and found.se == pytest.approx(sqrt(3))
    assert found.df == pytest.approx(9 / (1 + 2.25**2 + 0.25**2))
    half = critical_t(0.95, 9 / 6.125) * sqrt(3)
    assert (found.low, found.high) == pytest.approx((2 - half, 2 + half), rel=1e-9)


def test_one_run_or_one_problem_leaves_nothing_over_in_each_of_many_samples():
    for shape in ((3, 1, 4), (3, 4, 1)):
        *_, residual = variance_parts([np.arange(12.0).reshape(shape)])
        assert residual.shape == (1, 3) and np.isnan(residual).all()


def test_every_benchmark_weighs_the_same():
    # the same block twice: the runs' effects are shared, the problems' are not; each part of a benchmark times 1/4
    _, of_runs, of_problems, _ = variance_parts([BY_HAND, BY_HAND])
    assert of_runs == pytest.approx(1) and of_problems == pytest.approx([2.25 / 4] * 2)
    found = BOUNDLESS([BY_HAND, BY_HAND])
    assert found.se**2 == pytest.approx(1 + 2.25 / 2 - 0.25 / 2)
    assert found.df == pytest.approx(2**2 / (1 + 2 * (2.25 / 4) ** 2 + 2 * (0.25 / 4) ** 2))
    larger = np.tile(BY_HAND + 10, 3)
    assert two_way([BY_HAND, larger]).mean == pytest.approx((2 + 12) / 2)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(2, 5), st.lists(st.integers(2, 7), min_size=1, max_size=3), st.integers(0, 1000))
def test_agrees_with_the_analysis_of_variance(runs, sizes, seed):
    rng = np.random.default_rng(seed)
    effect = rng.normal(size=(runs, 1)) * (seed % 2)
    blocks = [effect + crossed(rng, runs, size) for size in sizes]
    weight, free_runs, free = len(sizes) ** 2, runs - 1, np.array(sizes) - 1
    parts = np.array([mean_squares(block) / block.size for block in blocks]) / weight
    of_runs = np.var(np.mean([block.mean(axis=1) for block in blocks], axis=0), ddof=1) / runs
    of_problems, rest = parts[:, 1].sum(), parts[:, 2].sum()
    squares = [of_runs**2 / free_runs, (parts[:, 1] ** 2 / free).sum(), (parts[:, 2] ** 2 / free / free_runs).sum()]
    cases = [
        (of_runs + of_problems - rest, sum(squares)),
        (of_runs, squares[0]),
        (of_problems, squares[1]),
        (rest, squares[2]),
    ]
    variance, square = max(cases, key=lambda case: case[0])
    found, df = BOUNDLESS(blocks), variance**2 / square
    assert found.se**2 == pytest.approx(variance, rel=1e-9) and found.df == pytest.approx(df, rel=1e-8)
    assert two_way(blocks).df == pytest.approx(min(df, 2 * free_runs), rel=1e-8)
    assert two_way_level(blocks).df == pytest.approx(min(df, 3 * free_runs), rel=1e-8)
    half = critical_t(0.95, float(found.df)) * sqrt(variance)
    assert found.high - found.mean == pytest.approx(half, rel=1e-6)


@pytest.mark.parametrize(
    ("block", "variance", "df"),
    [
        ([[0, 2], [11, 9]], 20.25, 1),  # problem means equal, V_residual 1: their component is cut, V_runs is left
        ([[0, 11], [2, 9]], 20.25, 1),  # likewise the runs'
        ([[0, 2], [3, 1]], 1, 1),  # V_runs 0.25 and V_problems 0 below V_residual 1: both are cut
    ],
)
def test_components_are_cut_at_zero(block, variance, df):
    found = two_way([np.array(block, dtype=float)])
    assert found.se**2 == pytest.approx(variance) and found.df == pytest.approx(df)


def test_parts_that_are_equal_but_for_rounding_always_give_the_same_df():
    # one value off: all three parts are equal, so that the sum is each of them and rounding must not choose
    block = np.full((3, 7), 0.9)
    block[1, 2] = 0.3
    part = 0.6**2 / 21**2  # a single value's share in the mean, squared: V_runs = V_problems = V_residual
    rng = np.random.default_rng(0)
    for _ in range(20):
        found = two_way([rng.permutation(rng.permutation(block, axis=0), axis=1)])
        assert found.se**2 == pytest.approx(part)
        assert found.df == pytest.approx(1 / (1 / 2 + 1 / 6 + 1 / 12))


def test_a_level_stays_within_0_and_1_and_is_symmetric_on_the_logit_scale():
    # half a width of 0.1 about 0.5 is 0.1 / 0.25 = 0.4 in logits: 1 / (1 + exp(-+0.4))
    values = np.array([0.4, 0.5, 0.6])
    half = 0.1 / sqrt(3) * critical_t(0.95, 2) / 0.25
    found = over_runs(values).of_share()
    assert (found.low, found.high) == pytest.approx((1 / (1 + np.exp(half)), 1 / (1 + np.exp(-half))), rel=1e-7)
    assert (found.mean, found.se, found.df) == pytest.approx((0.5, 0.1 / sqrt(3), 2))
    runs = [[[0, 0, 0, 1], [0, 0, 0, 0.5], [0, 0, 0, 1]], [[1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0.5]]]
    rare = np.array(runs)  # two levels, 3 runs of 4 problems each
    plain = two_way([rare], df_per_run=3)
    assert plain.low[0] < 0 and plain.high[1] > 1
    for level in (two_way_level([rare]), over_problems([rare[:, 1]]).of_share()):
        assert (level.low > 0).all() and (level.high < 1).all()
        odds = [np.log(p / (1 - p)) for p in (level.low, level.mean, level.high)]
        assert odds[1] - odds[0] == pytest.approx(odds[2] - odds[1])
    same = over_runs([[1.0, 1.0], [0.0, 0.0]]).of_share()
    assert np.isnan([same.low, same.high]).all() and same.mean.tolist() == [1, 0]


def test_a_difference_of_shares_stays_within_1():
    found = over_runs([[-0.9, 0.1], [0.2, 0.9], [0.1, 0.11]])
    cut = found.of_difference()
    assert found.low[0] < -1 and found.high[1] > 1
    assert cut.low[:2] == pytest.approx([-1, -1]) and cut.high[:2] == pytest.approx([1, 1])
    assert (cut.low[2], cut.high[2]) == (found.low[2], found.high[2]) and cut.se is found.se


def test_a_batch_is_many_studies():
    rng = np.random.default_rng(0)
    blocks = [crossed(rng, 3, size, 0.1)[None, None] + rng.normal(size=(4, 5, 3, size)) for size in (6, 9)]
    batch = two_way(blocks)
    assert batch.mean.shape == batch.low.shape == batch.df.shape == (4, 5)
    for i in np.ndindex(4, 5):
        one = two_way([block[i] for block in blocks])
        for name in ("mean", "se", "df", "low", "high"):
            assert getattr(batch, name)[i] == pytest.approx(float(getattr(one, name)), rel=1e-12)


def test_no_spread_one_run_or_one_problem_have_no_interval():
    for block in (np.full((3, 4), 0.3), BY_HAND[:1], BY_HAND[:, :1]):
        found = two_way([block])
        assert found.mean == pytest.approx(block.mean())
        assert all(isnan(v) for v in (found.se, found.df, found.low, found.high, found.p))
    mixed = two_way([np.stack([np.full((2, 2), 0.3), BY_HAND])])
    assert isnan(mixed.low[0]) and mixed.se[1] == pytest.approx(sqrt(3))
