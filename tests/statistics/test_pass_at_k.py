from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.statistics.metrics import pass_at_k


@st.composite
def counts(draw, largest=64):
    n = draw(st.integers(1, largest))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


def test_by_hand():
    # n = 4, c = 2, k = 2: of the 6 pairs one holds no correct sample
    assert pass_at_k([4, 4, 4], [0, 2, 4], 2) == pytest.approx([0, 5 / 6, 1])
    assert pass_at_k([[8], [16]], [[1], [1]], 4) == pytest.approx(np.array([[1 / 2], [1 / 4]]))


@given(counts(largest=7))
def test_agrees_with_counting_every_draw(case):
    n, c, k = case
    draws = list(combinations([True] * c + [False] * (n - c), k))
    exact = Fraction(sum(any(draw) for draw in draws), len(draws))
    assert float(pass_at_k(n, c, k)) == pytest.approx(float(exact), abs=1e-14)


@given(counts())
def test_agrees_with_exact_binomials_and_more_draws_or_correct_samples_never_hurt(case):
    n, c, k = case
    here = pass_at_k(n, c, k)
    assert 0 <= here <= 1
    if k < n:
        assert pass_at_k(n, c, k + 1) >= here - 1e-15
    if c < n:
        assert pass_at_k(n, c + 1, k) >= here - 1e-15
    assert float(here) == pytest.approx(float(1 - Fraction(comb(n - c, k), comb(n, k))), abs=1e-14)
    assert float(pass_at_k(n, c, 1)) == pytest.approx(c / n, abs=1e-15)


def test_large_counts_do_not_overflow():
    exact = 1 - Fraction(comb(99_000, 1000), comb(100_000, 1000))
    assert float(pass_at_k(100_000, 1000, 1000)) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("n", "c", "k", "message"),
    [
        ([8, 3], [1, 1], 4, "smallest n is 3"),
        ([8], [9], 1, "0 <= c <= n"),
        ([8], [-1], 1, "0 <= c <= n"),
        ([8], [1], 0, "at least 1"),
        ([8.0], [1], 1, "integers"),
    ],
)
def test_impossible_counts_are_refused(n, c, k, message):
    with pytest.raises(ValueError, match=message):
        pass_at_k(n, c, k)
