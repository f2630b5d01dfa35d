from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ict_core.seeding import generator
from ict_core.statistics import sign_flip
from ict_core.statistics._permutation import DRAWN, sign_flip_floor

INTEGERS = st.lists(st.integers(-20, 20), min_size=1, max_size=8)


def flips_by_hand(values):
    """In whole numbers, so that ties are ties."""
    sums = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in product((1, -1), repeat=len(values))
    ]
    return sum(s >= abs(sum(values)) for s in sums) / len(sums)


def test_by_hand():
    assert sign_flip([1, 2, 3]) == 2 / 8  # only all signs equal
    assert sign_flip([1, 2, -3]) == 1  # a sum of 0
    assert sign_flip([1, -2, 4]) == 6 / 8  # |sum| 3; the flips give 7, 1, 3, 5 and their mirrors


@settings(deadline=None)  # a busy machine is no failure
@given(INTEGERS)
def test_sign_flip_counts_every_flip(values):
    assert sign_flip(np.array(values) / 100) == flips_by_hand(values)


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


def test_ties_by_rounding_are_ties():
    assert sign_flip([0.1 + 0.2, -0.3]) == 1


def test_many_at_once():
    values = np.random.default_rng(0).normal(0.3, 1, (3, 4, 6))
    found = sign_flip(values)
    assert found.shape == (3, 4) and all(found[i] == sign_flip(values[i]) for i in np.ndindex(3, 4))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_floor_is_reached_and_never_passed(n):
    up = np.arange(1.0, n + 1)
    assert sign_flip(up) == sign_flip_floor(n) == 2 / 2**n


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
    with pytest.raises(ValueError, match="17 pairs: .* give a generator"):
        sign_flip(np.ones(17))


@pytest.mark.parametrize("values", [[], [np.nan, 1], 3.0])
def test_what_is_no_sample_is_refused(values):
    with pytest.raises(ValueError, match="finite"):
        sign_flip(values)


def test_rejects_no_more_often_than_it_says():
    rng = np.random.default_rng(8)
    assert np.mean(sign_flip(rng.normal(size=(3000, 8))) <= 0.05) <= 0.065
