from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ict_core.seeding import generator
from ict_core.statistics.deciding import sign_flip, sign_flip_floor

INTEGERS = st.lists(st.integers(-20, 20), min_size=1, max_size=8)


def test_flips_that_are_drawn_depend_on_the_number_of_pairs_alone(monkeypatch):
    asked = []

    def watched(*key):
        asked.append(key)
        return generator(*key)

    monkeypatch.setattr("ict_core.statistics.deciding.generator", watched)
    sign_flip(np.ones((3, 17))), sign_flip(-np.ones(20)), sign_flip(np.ones(16))
    assert asked == [(0, "sign-flips", 17), (0, "sign-flips", 20)]


def flips_by_hand(values):
    """In whole numbers, so that ties are ties."""
    sums = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in product((1, -1), repeat=len(values))
    ]
    return sum(s >= abs(sum(values)) for s in sums) / len(sums)


def test_by_hand():
    assert sign_flip([1, 2, 3]) == sign_flip_floor(3) == 2 / 8  # only all signs equal
    assert sign_flip([1, 2, -3]) == 1  # a sum of 0
    assert sign_flip([1, -2, 4]) == 6 / 8  # |sum| 3; the flips give 7, 1, 3, 5 and their mirrors


@given(INTEGERS)
def test_sign_flip_counts_every_flip(values):
    assert sign_flip(np.array(values) / 100) == flips_by_hand(values)


def test_ties_by_rounding_are_ties():
    assert sign_flip([0.1 + 0.2, -0.3]) == 1


def test_many_at_once():
    values = np.random.default_rng(0).normal(0.3, 1, (3, 4, 6))
    found = sign_flip(values)
    assert found.shape == (3, 4) and all(found[i] == sign_flip(values[i]) for i in np.ndindex(3, 4))


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
    first = sign_flip(values)
    assert first == pytest.approx(exact, abs=5 * np.sqrt(0.25 / 100_000))
    assert sign_flip([values, -values]).tolist() == [first, first]  # the same flips for everyone
    assert sign_flip(values + 100) >= sign_flip_floor(17) == 1 / (100_001)


@pytest.mark.parametrize("values", [[], [np.nan, 1], 3.0])
def test_what_is_no_sample_is_refused(values):
    with pytest.raises(ValueError, match="finite"):
        sign_flip(values)
