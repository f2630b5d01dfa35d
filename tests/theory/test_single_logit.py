"""The closed forms against whole distributions in float64, whose one logit is raised."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ict_core.theory import _single_logit as theory

LOGITS = st.lists(st.floats(-12, 12), min_size=2, max_size=40)


def state(logits):
    """ln p of every token, H1, H2 by their definitions."""
    logits = np.asarray(logits, dtype=np.float64)
    logprobs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    p = np.exp(logprobs)
    return logprobs, -(p * logprobs).sum(), -np.log((p**2).sum())


def raised(logits, token, shift):
    return state(np.asarray(logits) + shift * (np.arange(len(logits)) == token))


@settings(max_examples=100, deadline=None)
@given(LOGITS, st.integers(0, 39), st.floats(-6, 6))
def test_the_closed_forms_are_the_change_of_the_whole_distribution(logits, token, shift):
    token %= len(logits)
    before, h1, h2 = state(logits)
    after, h1_after, h2_after = raised(logits, token, shift)
    assert theory.h1_change(before[token], h1, shift) == pytest.approx(h1_after - h1, abs=1e-11)
    assert theory.h2_change(before[token], h2, shift) == pytest.approx(h2_after - h2, abs=1e-11)
    assert theory.shift_between(before[token], after[token]) == pytest.approx(shift, abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(LOGITS, st.integers(0, 39))
def test_the_first_order_statements_are_the_slopes(logits, token):
    token, small = token % len(logits), 1e-4
    logprobs, h1, h2 = state(logits)
    (_, h1_up, h2_up), (_, h1_down, h2_down) = (raised(logits, token, s) for s in (small, -small))
    assert theory.first_order_h1_change(logprobs[token], h1, 1.0) == pytest.approx((h1_up - h1_down) / 2e-4, abs=1e-6)
    assert theory.first_order_h2_change(logprobs[token], h2, 1.0) == pytest.approx((h2_up - h2_down) / 2e-4, abs=1e-6)
    halved = theory.first_order_h2_change(logprobs[token], h2, -0.5)
    assert halved == pytest.approx(-theory.first_order_h2_change(logprobs[token], h2, 1.0) / 2)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(LOGITS, st.integers(0, 39), st.floats(0.05, 8))
def test_the_sign_of_the_first_order_statement_is_right_up_to_the_turning_shift_and_wrong_beyond(logits, token, size):
    token %= len(logits)
    logprobs, _, h2 = state(logits)
    p, beta = np.exp(logprobs[token]), np.exp(-h2)
    assume(h2 > 1e-3 and abs(p / beta - 1) > 1e-3 and p > 1e-4 and abs(2 * beta / (1 + beta) - p) > 1e-3)
    turning = theory.turning_shift(logprobs[token], h2)
    assert np.isneginf(turning) if p > 2 * beta / (1 + beta) else np.sign(turning) == np.sign(beta - p)
    for shift in (size, -size):
        assume(abs(shift - turning) > 0.01)
        exact = theory.h2_change(logprobs[token], h2, shift)
        right = np.sign(exact) == np.sign(theory.first_order_h2_change(logprobs[token], h2, shift))
        beyond = np.sign(shift) == np.sign(turning) and abs(shift) > abs(turning)
        assert abs(exact) < 1e-12 or right != beyond


def test_two_tokens_by_hand():
    """p = 1/4 and 3/4, so beta = 10/16; a factor of 3 makes both 1/2."""
    h2, shift = np.log(16 / 10), np.log(3)
    h1 = np.log(4) - 0.75 * np.log(3)
    assert theory.h2_change(np.log(0.25), h2, shift) == pytest.approx(np.log(2) - h2)
    assert theory.h1_change(np.log(0.25), h1, shift) == pytest.approx(np.log(2) - h1)
    assert theory.shift_between(np.log(0.25), np.log(0.5)) == pytest.approx(shift)
    assert theory.first_order_h2_change(np.log(0.25), h2, 0.1) == pytest.approx(-0.05 * (0.4 - 1))
    assert theory.turning_shift(np.log(0.25), h2) == pytest.approx(np.log(9))  # 1/4 : 3/4 becomes 3/4 : 1/4


def test_digits_are_kept_where_p_is_nearly_one():
    """Two tokens, the other one with the probability 1e-12."""
    logprob, rare = np.log1p(-1e-12), 1e-12
    h1, h2 = rare - rare * np.log(rare), 2 * rare
    after = state([0.0, np.log(rare) + 20.0])
    assert theory.h1_change(logprob, h1, -20.0) == pytest.approx(after[1] - h1, rel=1e-6)
    assert theory.h2_change(logprob, h2, -20.0) == pytest.approx(after[2] - h2, rel=1e-6)
    assert theory.shift_between(logprob, np.log1p(-1e-9)) == pytest.approx(np.log(1e-3), rel=1e-3)


def test_the_ends_are_safe_and_shapes_broadcast():
    assert theory.h1_change(-np.inf, 0.5, 1.0) == theory.first_order_h1_change(-np.inf, 0.5, 1.0) == 0
    assert theory.h1_change(0.0, 0.0, 3.0) == theory.h2_change(0.0, 0.0, -3.0) == 0
    for rounded in (0.0, 3e-8):  # beta above and below what p = 1 - 1e-8 allows
        assert theory.h2_change(-1e-8, rounded, -5.0) == pytest.approx(2e-8 * np.exp(5), rel=0.02)
    assert not np.isfinite(theory.shift_between([0.0, -0.5, 0.0], [-0.5, 0.0, 0.0])).any()
    assert theory.h2_change(np.log([[0.2], [0.5]]), [0.9, 1.0, 1.1], 0.1).shape == (2, 3)
