import numpy as np
import pytest
from scipy import stats

from ict_core.statistics import crossed_bootstrap
from ict_core.statistics._views import percentile, resampling_counts


def blocks_of(rng, runs=4, sizes=(5, 9), lead=()):
    return [rng.normal(0.1, 1, (*lead, runs, size)) for size in sizes]


def by_copying(blocks, generator, resamples, level):
    """The same resamples, drawn in the same order, by copying rows and columns as often as they were drawn."""
    of_runs = resampling_counts(generator, resamples, len(blocks[0])).astype(int)
    of_problems = [resampling_counts(generator, resamples, b.shape[1]).astype(int) for b in blocks]
    means = [
        np.mean([np.repeat(np.repeat(b, v, 0), w[i], 1).mean() for b, w in zip(blocks, of_problems, strict=True)])
        for i, v in enumerate(of_runs)
    ]
    return np.quantile(means, [(1 - level) / 2, (1 + level) / 2])


@pytest.mark.parametrize("size", [1, 7, 40_000])
def test_counts_are_draws_with_return(size):
    counts = resampling_counts(np.random.default_rng(0), 50, size)
    assert counts.shape == (50, size) and (counts.sum(axis=1) == size).all()
    assert (counts >= 0).all() and (counts == counts.round()).all()


def test_counts_follow_the_multinomial():
    counts = resampling_counts(np.random.default_rng(0), 40_000, 5)  # several pieces of 6,000 rows
    # mean 1, variance 1 - 1/5, covariance -1/5; the standard errors are below 0.006
    assert counts.mean(axis=0) == pytest.approx(1, abs=0.02)
    assert np.cov(counts.T) == pytest.approx(np.eye(5) - 1 / 5, abs=0.025)
    assert np.unique(counts, axis=0).shape[0] == 126  # all C(9, 5) ways to draw 5 of 5


def test_weights_do_what_copying_does():
    blocks = blocks_of(np.random.default_rng(1))
    found = crossed_bootstrap(blocks, np.random.default_rng(7), resamples=60, level=0.9)
    assert (found.low, found.high) == pytest.approx(tuple(by_copying(blocks, np.random.default_rng(7), 60, 0.9)))
    assert found.estimate == pytest.approx(np.mean([b.mean() for b in blocks]))


def test_every_benchmark_weighs_the_same():
    found = crossed_bootstrap([np.zeros((3, 1000)), np.ones((3, 10))], np.random.default_rng(0), 10)
    assert found.estimate == 0.5


def test_by_enumeration():
    # two runs, one problem: the mean of the resample is 0, 1/2 or 1 with chances 1/4, 1/2, 1/4
    for level, limits in ((0.95, (0, 1)), (0.4, (0.5, 0.5))):
        found = crossed_bootstrap([np.array([[0.0], [1.0]])], np.random.default_rng(0), 2000, level)
        assert (found.low, found.high) == limits


@pytest.mark.parametrize("runs", [True, False])
def test_one_way_agrees_with_scipy(runs):
    rng = np.random.default_rng(3)
    blocks = blocks_of(rng, runs=12, sizes=(25, 40))
    found = crossed_bootstrap(blocks, rng, 20_000, runs=runs, problems=not runs)
    of_runs, of_problems = [np.mean([b.mean(axis=1) for b in blocks], axis=0)], [b.mean(axis=0) for b in blocks]
    samples = of_runs if runs else of_problems

    def mean(*arms, axis=-1):
        return np.mean([a.mean(axis=axis) for a in arms], axis=0)

    theirs = stats.bootstrap(samples, mean, method="percentile", n_resamples=20_000, vectorized=True, rng=rng)
    limits = theirs.confidence_interval
    width = limits.high - limits.low  # the standard error of either end is below 0.01 widths
    assert (found.low, found.high) == pytest.approx((limits.low, limits.high), abs=0.04 * width)


def test_a_batch_is_its_members():
    blocks = blocks_of(np.random.default_rng(2), lead=(3, 2))
    batch = crossed_bootstrap(blocks, np.random.default_rng(5), 50)
    assert batch.low.shape == (3, 2)
    one = crossed_bootstrap([b[2, 1] for b in blocks], np.random.default_rng(5), 50)
    assert (batch.estimate[2, 1], batch.low[2, 1], batch.high[2, 1]) == pytest.approx((one.estimate, one.low, one.high))


def test_equal_values_have_no_interval():
    found = crossed_bootstrap([np.full((3, 4), 0.1)], np.random.default_rng(0), 10)
    assert found.estimate == pytest.approx(0.1) and np.isnan(found.low) and np.isnan(found.high)


def test_only_the_generator_counts():
    blocks, found = blocks_of(np.random.default_rng(2)), []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        found.append(crossed_bootstrap(blocks, np.random.default_rng(9), 50))
    assert found[0].low == found[1].low and found[0].high == found[1].high
    assert crossed_bootstrap(blocks, np.random.default_rng(10), 50).low != found[0].low


@pytest.mark.parametrize(
    ("blocks", "resamples", "level", "what"),
    [
        ([], 10, 0.95, "at least one benchmark"),
        ([np.zeros((2, 3)), np.zeros((3, 3))], 10, 0.95, "same runs"),
        ([np.zeros(3)], 10, 0.95, "shape"),
        ([np.zeros((0, 3))], 10, 0.95, "shape"),
        ([np.zeros((2, 3))], 1, 0.95, "2 resamples"),
        ([np.zeros((2, 3))], 10, 1.0, "level"),
    ],
)
def test_refuses(blocks, resamples, level, what):
    with pytest.raises(ValueError, match=what):
        crossed_bootstrap(blocks, np.random.default_rng(0), resamples, level)


def test_percentiles_by_hand():
    found = percentile(np.array(5.0), np.arange(101.0), 0.9)
    assert (found.low, found.high) == pytest.approx((5, 95))
