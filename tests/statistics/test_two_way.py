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

from ict_core.statistics import over_problems, over_runs, two_way, two_way_level
from ict_core.statistics._intervals import LEVEL_DF, variance_parts

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
    parts = variance_parts([BY_HAND])
    assert (parts.mean, parts.runs, parts.problems[0], parts.residual[0]) == pytest.approx((2, 1, 2.25, 0.25))
    found = two_way([BY_HAND])
    assert found.mean == 2 and found.se == pytest.approx(sqrt(3))
    assert found.df == pytest.approx(9 / (1 + 2.25**2 + 0.25**2))
    half = critical_t(0.95, 9 / 6.125) * sqrt(3)
    assert (found.low, found.high) == pytest.approx((2 - half, 2 + half), rel=1e-9)


def test_every_benchmark_weighs_the_same():
    # the same block twice: the runs' effects are shared, the problems' are not; each part of a benchmark times 1/4
    parts = variance_parts([BY_HAND, BY_HAND])
    assert parts.runs == pytest.approx(1) and parts.problems == pytest.approx([2.25 / 4] * 2)
    found = BOUNDLESS([BY_HAND, BY_HAND])
    assert found.se**2 == pytest.approx(1 + 2.25 / 2 - 0.25 / 2)
    assert found.df == pytest.approx(2**2 / (1 + 2 * (2.25 / 4) ** 2 + 2 * (0.25 / 4) ** 2))
    larger = np.tile(BY_HAND + 10, 3)
    assert two_way([BY_HAND, larger]).mean == pytest.approx((2 + 12) / 2)


@pytest.mark.slow
@settings(deadline=None, max_examples=20)  # a busy machine is no failure
@given(st.integers(2, 5), st.integers(2, 7), st.integers(0, 1000))
def test_one_benchmark_agrees_with_the_analysis_of_variance(runs, problems, seed):
    block = crossed(np.random.default_rng(seed), runs, problems)
    of_runs, of_problems, rest = mean_squares(block) / block.size
    found, free = BOUNDLESS([block]), (runs - 1, problems - 1, (runs - 1) * (problems - 1))
    cases = [
        (of_runs + of_problems - rest, (of_runs, of_problems, rest)),
        (of_runs, (of_runs, 0, 0)),
        (of_problems, (0, of_problems, 0)),
        (rest, (0, 0, rest)),
    ]
    variance, used = max(cases, key=lambda case: case[0])
    assert found.se**2 == pytest.approx(variance, rel=1e-9)
    df = variance**2 / sum(v**2 / f for v, f in zip(used, free, strict=True))
    assert found.df == pytest.approx(df, rel=1e-8)
    assert two_way([block]).df == pytest.approx(min(df, 2 * (runs - 1)), rel=1e-8)
    assert two_way_level([block]).df == pytest.approx(min(df, 3 * (runs - 1)), rel=1e-8)
    half = critical_t(0.95, float(found.df)) * sqrt(variance)
    assert found.high - found.mean == pytest.approx(half, rel=1e-6)


def test_several_benchmarks_agree_with_the_analysis_of_variance():
    rng = np.random.default_rng(3)
    effect = rng.normal(size=(4, 1))
    blocks = [effect + crossed(rng, 4, size, 0.3) for size in (3, 8, 5)]
    parts = np.array([mean_squares(b) / b.size for b in blocks]) / 9
    runs = np.var([np.mean([b[s].mean() for b in blocks]) for s in range(4)], ddof=1) / 4
    found = BOUNDLESS(blocks)
    variance = runs + parts[:, 1].sum() - parts[:, 2].sum()
    assert found.se**2 == pytest.approx(variance, rel=1e-9)
    problems, rest = ((parts[:, i] ** 2 / free).sum() for i, free in ((1, [2, 7, 4]), (2, [6, 21, 12])))
    assert found.df == pytest.approx(variance**2 / (runs**2 / 3 + problems + rest), rel=1e-9)


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


@settings(deadline=None, max_examples=30)  # a busy machine is no failure
@given(st.integers(0, 1000), st.floats(-5, 5))
def test_order_does_not_matter_and_a_shift_shifts(seed, shift):
    rng = np.random.default_rng(seed)
    block = crossed(rng, 3, 6)
    found = two_way([block])
    mixed = two_way([rng.permutation(rng.permutation(block, axis=0), axis=1) + shift])
    assert mixed.se == pytest.approx(float(found.se), rel=1e-8) and mixed.df == pytest.approx(float(found.df), rel=1e-7)
    assert mixed.mean == pytest.approx(float(found.mean) + shift, abs=1e-9)


def test_no_spread_one_run_or_one_problem_have_no_interval():
    for block in (np.full((3, 4), 0.3), BY_HAND[:1], BY_HAND[:, :1]):
        found = two_way([block])
        assert found.mean == pytest.approx(block.mean())
        assert all(isnan(v) for v in (found.se, found.df, found.low, found.high, found.p))
    mixed = two_way([np.stack([np.full((2, 2), 0.3), BY_HAND])])
    assert isnan(mixed.low[0]) and mixed.se[1] == pytest.approx(sqrt(3))


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "at least one benchmark"),
        ([np.zeros(3)], "benchmark 0: values of shape"),
        ([np.zeros((2, 0))], "benchmark 0: values of shape"),
        ([BY_HAND, BY_HAND[:1]], "benchmark 1: values of shape"),
        ([np.array([[0.0, np.nan], [1.0, 2.0]])], "not finite"),
    ],
)
def test_what_is_no_layout_is_refused(blocks, message):
    with pytest.raises(ValueError, match=message):
        two_way(blocks)


def test_a_level_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="95"):
        two_way([BY_HAND], level=95)


def test_covers_new_runs_on_new_problems():
    rng = np.random.default_rng(11)
    shape = (2000, 5, 40)
    block = rng.normal(0, 0.05, (2000, 5, 1)) + rng.normal(0, 0.3, (2000, 1, 40)) + rng.normal(0, 0.2, shape)
    found = two_way([block], df_per_run=LEVEL_DF)
    assert np.mean((found.low <= 0) & (found.high >= 0)) == pytest.approx(0.95, abs=0.02)
