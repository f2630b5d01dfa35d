from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ict_core.seeding import generator
from ict_core.statistics import sign_flip, signed_rank, two_sample
from ict_core.statistics._permutation import DRAWN, sign_flip_floor, two_sample_floor

INTEGERS = st.lists(st.integers(-20, 20), min_size=1, max_size=8)


def flips_by_hand(values):
    """In whole numbers, so that ties are ties."""
    sums = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in product((1, -1), repeat=len(values))
    ]
    return sum(s >= abs(sum(values)) for s in sums) / len(sums)


def splits_by_hand(ours, theirs):
    pooled, n, m = [*ours, *theirs], len(ours), len(theirs)
    gaps = []
    for chosen in combinations(range(n + m), n):
        first = sum(pooled[i] for i in chosen)
        gaps.append(abs(first * m - (sum(pooled) - first) * n))
    return sum(g >= gaps[0] for g in gaps) / len(gaps)


def test_by_hand():
    assert sign_flip([1, 2, 3]) == 2 / 8  # only all signs equal
    assert sign_flip([1, 2, -3]) == 1  # a sum of 0
    assert sign_flip([1, -2, 4]) == 6 / 8  # |sum| 3; the flips give 7, 1, 3, 5 and their mirrors
    assert two_sample([3, 4], [1, 2]) == 2 / 6
    assert two_sample([1, 4], [2, 3]) == 1
    assert signed_rank([10, 0.2, 0.3]) == 2 / 8


@settings(deadline=None)  # a busy machine is no failure
@given(INTEGERS)
def test_sign_flip_counts_every_flip(values):
    assert sign_flip(np.array(values) / 100) == flips_by_hand(values)


@settings(deadline=None)  # a busy machine is no failure
@given(INTEGERS.filter(lambda v: len(v) <= 5), INTEGERS.filter(lambda v: len(v) <= 5))
def test_two_sample_counts_every_split(ours, theirs):
    assert two_sample(np.array(ours) / 100, np.array(theirs) / 100) == pytest.approx(splits_by_hand(ours, theirs))


@settings(deadline=None, max_examples=25)  # a busy machine is no failure
@given(st.integers(0, 1000), st.integers(3, 8))
def test_agrees_with_scipy(seed, n):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.5, 1, n), rng.normal(size=n)

    def gap(x, y, axis):
        return np.abs(x.mean(axis=axis) - y.mean(axis=axis))

    options = {"vectorized": True, "n_resamples": np.inf, "alternative": "greater"}
    pairs = stats.permutation_test((a, b), gap, permutation_type="samples", **options)
    assert sign_flip(a - b) == pytest.approx(pairs.pvalue)
    assert signed_rank(a - b) == pytest.approx(stats.wilcoxon(a - b, method="exact").pvalue)
    if n <= 5:
        runs = stats.permutation_test((a, b), gap, permutation_type="independent", **options)
        assert two_sample(a, b) == pytest.approx(runs.pvalue)


@settings(deadline=None)  # a busy machine is no failure
@given(INTEGERS)
def test_signed_rank_stays_exact_with_ties_and_zeros(values):
    kept = [v for v in values if v]
    ranks = stats.rankdata(np.abs(kept)) if kept else []
    signed = [int(2 * r * np.sign(v)) for r, v in zip(ranks, kept, strict=True)]  # twice the rank is whole
    assert signed_rank(np.array(values) / 100) == (flips_by_hand(signed) if kept else 1)


def test_ties_by_rounding_are_ties():
    assert signed_rank([0.3, 0.1 + 0.2, -0.3]) == signed_rank([0.3, 0.3, -0.3])
    assert sign_flip([0.1 + 0.2, -0.3]) == 1


def test_many_at_once():
    values = np.random.default_rng(0).normal(0.3, 1, (3, 4, 6))
    others = np.random.default_rng(1).normal(0.3, 1, (3, 4, 5))
    for found, one in (
        (sign_flip(values), lambda i: sign_flip(values[i])),
        (signed_rank(values), lambda i: signed_rank(values[i])),
        (two_sample(values, others), lambda i: two_sample(values[i], others[i])),
    ):
        assert found.shape == (3, 4) and all(found[i] == one(i) for i in np.ndindex(3, 4))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_floors_are_reached_and_never_passed(n):
    up = np.arange(1.0, n + 1)
    assert sign_flip(up) == signed_rank(up) == sign_flip_floor(n) == 2 / 2**n
    assert two_sample(up + 10, up) == pytest.approx(two_sample_floor(n, n))
    assert two_sample(up + 10, np.array([1.0])) == pytest.approx(two_sample_floor(n, 1))
    assert two_sample_floor(n, 1) == 1 / (n + 1)


@pytest.mark.slow
def test_more_than_can_be_counted_is_drawn():
    values = np.random.default_rng(5).normal(0.25, 1, 17)
    exact = stats.permutation_test(
        (values, np.zeros(17)),
        lambda x, y, axis: np.abs(x.mean(axis=axis) - y.mean(axis=axis)),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
        alternative="greater",
        batch=10_000,
    ).pvalue
    np.random.seed(1)  # noqa: NPY002 - must not matter
    first = sign_flip(values, generator(0, "test"))
    np.random.seed(2)  # noqa: NPY002
    assert first == sign_flip(values, generator(0, "test"))
    assert first == pytest.approx(exact, abs=5 * np.sqrt(0.25 / DRAWN))
    assert sign_flip(values + 100, generator(0, "test")) >= sign_flip_floor(17) == 1 / (DRAWN + 1)


@pytest.mark.slow
def test_more_splits_than_can_be_counted_are_drawn():
    rng = np.random.default_rng(5)
    ours, theirs = rng.normal(0.5, 1, (2, 12))
    p = two_sample(ours, theirs, generator(0, "test"))
    oracle = stats.ttest_ind(ours, theirs).pvalue  # close to the permutation test's at this size
    assert p == pytest.approx(oracle, abs=0.02) and two_sample_floor(12, 12) == 1 / (DRAWN + 1)
    with pytest.raises(ValueError, match=r"12 \+ 12 runs: .* give a generator"):
        two_sample(ours, theirs)
    with pytest.raises(ValueError, match="17 pairs: .* give a generator"):
        sign_flip(np.ones(17))


@pytest.mark.parametrize("values", [[], [np.nan, 1], 3.0])
def test_what_is_no_sample_is_refused(values):
    for test in (sign_flip, signed_rank, lambda v: two_sample(v, v)):
        with pytest.raises(ValueError, match="finite"):
            test(values)


def test_arms_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match="shapes"):
        two_sample(np.zeros((2, 3)), np.zeros((3, 3)))


def test_rejects_no_more_often_than_it_says():
    rng = np.random.default_rng(8)
    assert np.mean(sign_flip(rng.normal(size=(3000, 8))) <= 0.05) <= 0.065
    assert np.mean(two_sample(rng.normal(size=(3000, 5)), rng.normal(size=(3000, 5))) <= 0.05) <= 0.065
