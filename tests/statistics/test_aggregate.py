import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from ict_core.statistics import interquartile_difference, probability_of_improvement, stratified_bootstrap
from ict_core.statistics._views import interquartile_mean

SHARES = st.integers(0, 6).map(lambda i: i / 6)  # few values, so that runs tie
ARM = arrays(np.float64, (4, 3), elements=SHARES)


def test_interquartile_mean_by_hand():
    eight = np.array([[0.0, 7.0, 2.0, 5.0], [1.0, 6.0, 3.0, 4.0]])  # 0, 1 and 6, 7 are cut
    assert interquartile_mean(eight) == pytest.approx(3.5)
    assert interquartile_mean(np.array([[1.0], [2.0], [9.0]])) == pytest.approx(4)  # a quarter of 3 rounds down to none
    outlier = np.array([[0.4], [0.5], [0.6], [0.0]])
    assert interquartile_mean(outlier) == pytest.approx(0.45)
    assert interquartile_mean(np.stack([eight, 2 * eight])) == pytest.approx([3.5, 7])


def test_probability_of_improvement_by_hand():
    ours, theirs = np.array([[3.0, 1.0], [2.0, 1.0]]), np.array([[2.0, 1.0], [1.0, 5.0]])
    # first benchmark: 3 > 2, 3 > 1, 2 = 2, 2 > 1: 3.5 of 4; second: 1 = 1 twice, 1 < 5 twice: 1 of 4
    assert probability_of_improvement(ours, theirs) == pytest.approx((3.5 / 4 + 1 / 4) / 2)


@pytest.mark.slow
@given(ARM, arrays(np.float64, (5, 3), elements=SHARES))
def test_probability_of_improvement_is_mann_whitneys(ours, theirs):
    u = [stats.mannwhitneyu(ours[:, b], theirs[:, b], method="asymptotic").statistic / 20 for b in range(3)]
    found = probability_of_improvement(ours, theirs)
    assert found == pytest.approx(np.mean(u))
    assert found + probability_of_improvement(theirs, ours) == pytest.approx(1)
    assert probability_of_improvement(ours**3 + 2, theirs**3 + 2) == pytest.approx(found)  # ranks only
    assert probability_of_improvement(ours, ours) == pytest.approx(0.5)


def test_scores_that_differ_by_rounding_tie():
    assert probability_of_improvement(np.array([[0.1 + 0.2]]), np.array([[0.3]])) == 0.5


def test_runs_are_resampled_within_each_benchmark_on_their_own():
    # one run is right everywhere, the other nowhere; resampled together, a quarter of the resamples would be 1
    ours = np.repeat([[0.0], [1.0]], 40, axis=1)
    theirs = np.full((2, 40), 0.5)
    found = stratified_bootstrap(lambda a, b: (a - b).mean(axis=(-2, -1)), ours, theirs, np.random.default_rng(0), 4000)
    sd = np.sqrt(0.25 / 2 / 40)
    assert (found.low, found.high) == pytest.approx((-1.96 * sd, 1.96 * sd), abs=0.02)


def test_one_benchmark_agrees_with_scipy():
    rng = np.random.default_rng(4)
    ours, theirs = rng.normal(0.3, 1, (14, 1)), rng.normal(0, 1, (11, 1))
    found = stratified_bootstrap(interquartile_difference, ours, theirs, rng, 20_000)

    def difference(a, b, axis=-1):
        return stats.trim_mean(a, 0.25, axis=axis) - stats.trim_mean(b, 0.25, axis=axis)

    limits = stats.bootstrap(
        (ours[:, 0], theirs[:, 0]), difference, method="percentile", n_resamples=20_000, vectorized=True, rng=rng
    ).confidence_interval
    width = limits.high - limits.low
    assert (found.low, found.high) == pytest.approx((limits.low, limits.high), abs=0.04 * width)
    assert found.estimate == pytest.approx(difference(ours[:, 0], theirs[:, 0]))


@pytest.mark.parametrize("statistic", [probability_of_improvement, interquartile_difference])
def test_a_batch_is_its_members_and_only_the_generator_counts(statistic):
    rng = np.random.default_rng(1)
    ours, theirs = rng.random((2, 5, 3)), rng.random((2, 4, 3))
    np.random.seed(1)  # noqa: NPY002
    batch = stratified_bootstrap(statistic, ours, theirs, np.random.default_rng(2), 40)
    np.random.seed(2)  # noqa: NPY002
    one = stratified_bootstrap(statistic, ours[1], theirs[1], np.random.default_rng(2), 40)
    assert (batch.estimate[1], batch.low[1], batch.high[1]) == pytest.approx((one.estimate, one.low, one.high))


def test_arms_that_never_overlap_have_no_interval():
    found = stratified_bootstrap(
        probability_of_improvement, np.ones((3, 2)), np.zeros((3, 2)), np.random.default_rng(0), 20
    )
    assert found.estimate == 1 and np.isnan(found.low) and np.isnan(found.high)


@pytest.mark.parametrize(
    ("ours", "theirs", "resamples", "what"),
    [((2, 3), (2, 4), 10, "same benchmarks"), ((0, 3), (2, 3), 10, "at least one run"), ((2, 3), (2, 3), 1, "2 res")],
)
def test_refuses(ours, theirs, resamples, what):
    with pytest.raises(ValueError, match=what):
        stratified_bootstrap(
            interquartile_difference, np.zeros(ours), np.zeros(theirs), np.random.default_rng(0), resamples
        )
