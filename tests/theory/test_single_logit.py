"""The closed forms against whole distributions in float64, whose one logit is raised; what the first order is worth."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ict_core.theory import single_logit as theory

LOGITS = st.lists(st.floats(-12, 12), min_size=2, max_size=40)


def state(logits):
    """ln p of every token, H1, H2 by their definitions."""
    logits = np.asarray(logits, dtype=np.float64)
    logprobs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    p = np.exp(logprobs)
    return logprobs, -(p * logprobs).sum(), -np.log((p**2).sum())


def raised(logits, token, shift):
    return state(np.asarray(logits) + shift * (np.arange(len(logits)) == token))


@settings(max_examples=50)
@given(LOGITS, st.integers(0, 39), st.floats(-6, 6))
def test_the_closed_forms_are_the_change_of_the_whole_distribution_and_the_first_order_its_slope(logits, token, shift):
    token, small = token % len(logits), 1e-4
    before, h1, h2 = state(logits)
    after, h1_after, h2_after = raised(logits, token, shift)
    assert theory.h1_change(before[token], h1, shift) == pytest.approx(h1_after - h1, abs=1e-11)
    assert theory.h2_change(before[token], h2, shift) == pytest.approx(h2_after - h2, abs=1e-11)
    assert theory.shift_between(before[token], after[token]) == pytest.approx(shift, abs=1e-6)
    (_, h1_up, h2_up), (_, h1_down, h2_down) = (raised(logits, token, s) for s in (small, -small))
    assert theory.first_order_h1_change(before[token], h1, 1.0) == pytest.approx((h1_up - h1_down) / 2e-4, abs=1e-6)
    slope = (h2_up - h2_down) / 2e-4
    assert theory.first_order_h2_change(before[token], h2, 1.0) == pytest.approx(slope, abs=1e-6)
    assert theory.first_order_h2_change(before[token], h2, -0.5) == pytest.approx(-slope / 2, abs=1e-6)


@pytest.mark.slow
@settings(max_examples=50)
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
    before, after = np.array([[0.0, -0.5, 0.0], [-0.5, 0.0, 0.0]])
    assert not np.isfinite(theory.shift_between(before, after)).any()
    assert theory.h2_change(np.log([[0.2], [0.5]]), np.array([0.9, 1.0, 1.1]), 0.1).shape == (2, 3)


def states(*distributions):
    """States of distributions given with their sampled token first."""
    rows = [(logprobs[0], h1, h2) for logprobs, h1, h2 in map(state, map(np.log, distributions))]
    return pd.DataFrame(rows, columns=["logprob", "h1", "h2"])


RARE, COMMON = [0.1, 0.5, 0.4], [0.65, 0.25, 0.1]  # p < beta, p > beta


def values(found, **where):
    chosen = found[np.logical_and.reduce([found[name] == value for name, value in where.items()])]
    return chosen.set_index("shift")["value"]


def test_shares_signs_and_errors_by_regime():
    found = theory.by_regime(states(*[RARE] * 30, *[COMMON] * 10))
    assert values(found, measure="share").tolist() == [1.0, 0.25, 0.75, 0.25, 0.75]
    turning = theory.turning_shift(np.log(0.1), -np.log(0.42))
    assert 2 < turning < 4
    signs = values(found, regime="p < beta", measure="same_sign")
    assert signs.index.tolist() == [-4, -2, -1, -0.5, -0.1, -0.01, 0.01, 0.1, 0.5, 1, 2, 4]
    assert signs.tolist() == [1] * 11 + [0]
    assert values(found, regime="all", measure="same_sign")[4] == 0.25
    before, after = np.array(COMMON), np.array([0.65 * np.e, 0.25, 0.1])
    exact = np.log((before**2).sum()) - np.log((after**2).sum() / after.sum() ** 2)
    first = -2 * 0.65 * (0.65 / (before**2).sum() - 1)
    for measure in ("error_median", "error_p95"):
        assert values(found, regime="p > 1/e", measure=measure)[1] == pytest.approx(abs(first / exact - 1))


def test_h1_and_h2_part_where_p_lies_between_exp_of_minus_h1_and_beta():
    flat = [0.41, 0.52, *[0.07 / 30] * 30]
    one = states(flat)
    assert np.exp(-one["h1"][0]) < 0.41 < np.exp(-one["h2"][0])
    h1, h2 = (theory.h1_change(one["logprob"], one["h1"], 0.1)[0], theory.h2_change(one["logprob"], one["h2"], 0.1)[0])
    assert h1 < 0 < h2


def test_the_sign_breaks_at_the_turning_shift_that_five_percent_have():
    near, far = [0.36, 0.64], [0.3, 0.7]  # both with p / beta between 0.5 and 0.7
    found = theory.breaking_shift(states(*[near] * 2, *[far] * 38))
    at = theory.turning_shift(np.log(far[0]), -np.log(0.58))  # two in forty do not exceed five percent
    assert found.to_numpy().tolist() == [[0.4, 0.6, pytest.approx(at)]]
    never = theory.breaking_shift(states(*[[0.9, 0.05, 0.05]] * 10))
    assert never["value"].isna().tolist() == [True]


def test_states_without_entropy_and_sets_of_few_are_left_out():
    found = theory.by_regime(states(*[COMMON] * 12, *[RARE] * 9, *[[1 - 1e-8, 1e-8]] * 3))
    assert set(found["regime"]) == {"all", "p > beta", "p > 1/e"}
    assert values(found, regime="all", measure="share").tolist() == [21 / 24]


def test_random_states_are_those_of_dirichlet_distributions():
    found = theory.random_states(10, 1.0)
    p, beta = np.exp(found["logprob"]), np.exp(-found["h2"])
    assert len(found) == theory.DRAWS and (found["h1"] >= found["h2"]).all()
    assert (p**2 <= beta * (1 + 1e-12)).all()
    mean = 2 / 11  # of sum p^2, (c + 1) / (c n + 1), and so of the p of a sampled token
    assert beta.mean() == pytest.approx(mean, abs=0.004) and p.mean() == pytest.approx(mean, abs=0.01)
    pd.testing.assert_frame_equal(found, theory.random_states.__wrapped__(10, 1.0))


@pytest.mark.slow
def test_a_model_has_a_value_a_seed_and_a_random_kind_one_without_an_interval():
    seeds = [states(*[RARE] * n, *[COMMON] * (40 - n)).assign(model="tiny", seed=n) for n in (10, 20, 30)]
    found = theory.over_sources(theory.by_regime, theory.sources(pd.concat(seeds)))
    assert list(found["states"].unique())[-2:] == ["Dirichlet(0.01) of 1,000", "tiny"]
    share = found[(found["measure"] == "share") & (found["regime"] == "p < beta")].set_index("states")
    assert share.loc["tiny", ["mean", "seeds"]].tolist() == [0.5, 3]
    half = 4.302653 * 0.25 / np.sqrt(3)  # t of 2 degrees of freedom
    assert share.loc["tiny", "high"] == pytest.approx(0.5 + half)
    assert share["low"].notna().tolist() == [False] * 4 + [True]
