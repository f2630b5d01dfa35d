"""What the first-order statement is worth, against whole distributions of a few tokens."""

import numpy as np
import pandas as pd
import pytest

from ict_core.theory import _single_logit as approximation
from ict_core.theory import turning_shift


def states(*distributions):
    """States of distributions given with their sampled token first."""
    rows = [(np.log(p[0]), -(p * np.log(p)).sum(), -np.log((p**2).sum())) for p in map(np.array, distributions)]
    return pd.DataFrame(rows, columns=["logprob", "h1", "h2"])


RARE, COMMON = [0.1, 0.5, 0.4], [0.65, 0.25, 0.1]  # p < beta, p > beta


def values(found, **where):
    chosen = found[np.logical_and.reduce([found[name] == value for name, value in where.items()])]
    return chosen.set_index("shift")["value"]


def test_shares_signs_and_errors_by_regime():
    found = approximation.by_regime(states(*[RARE] * 30, *[COMMON] * 10))
    assert values(found, measure="share").tolist() == [1.0, 0.25, 0.75, 0.25, 0.75]
    turning = turning_shift(np.log(0.1), -np.log(0.42))
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
    apart = approximation.together_by_probability(states(*[flat] * 10, *[COMMON] * 10))
    assert apart.to_numpy().tolist() == [[0.4, 0.5, 0.0], [0.6, 0.7, 1.0]]


def test_the_sign_breaks_at_the_turning_shift_that_five_percent_have():
    near, far = [0.36, 0.64], [0.3, 0.7]  # both with p / beta between 0.5 and 0.7
    found = approximation.breaking_shift(states(*[near] * 2, *[far] * 38))
    at = turning_shift(np.log(far[0]), -np.log(0.58))  # two in forty do not exceed five percent
    assert found.to_numpy().tolist() == [[0.4, 0.6, pytest.approx(at)]]
    never = approximation.breaking_shift(states(*[[0.9, 0.05, 0.05]] * 10))
    assert never["value"].isna().all() and len(never) == 1


def test_states_without_entropy_and_sets_of_few_are_left_out():
    found = approximation.by_regime(states(*[COMMON] * 12, *[RARE] * 9, *[[1 - 1e-8, 1e-8]] * 3))
    assert set(found["regime"]) == {"all", "p > beta", "p > 1/e"}
    assert values(found, regime="all", measure="share").tolist() == [21 / 24]


def test_random_states_are_those_of_dirichlet_distributions():
    found = approximation.random_states(10, 1.0)
    p, beta = np.exp(found["logprob"]), np.exp(-found["h2"])
    assert len(found) == approximation.DRAWS and (found["h1"] >= found["h2"]).all()
    assert (p**2 <= beta * (1 + 1e-12)).all()
    mean = 2 / 11  # of sum p^2, (c + 1) / (c n + 1), and so of the p of a sampled token
    assert beta.mean() == pytest.approx(mean, abs=0.004) and p.mean() == pytest.approx(mean, abs=0.01)
    pd.testing.assert_frame_equal(found, approximation.random_states.__wrapped__(10, 1.0))


@pytest.mark.slow
def test_a_model_has_a_value_a_seed_and_a_random_kind_one_without_an_interval():
    seeds = [states(*[RARE] * n, *[COMMON] * (40 - n)).assign(model="tiny", seed=n) for n in (10, 20, 30)]
    found = approximation.over_sources(approximation.by_regime, approximation.sources(pd.concat(seeds)))
    assert list(found["states"].unique()) == [
        "Dirichlet(1) of 10",
        "Dirichlet(0.1) of 10",
        "Dirichlet(1) of 1,000",
        "Dirichlet(0.01) of 1,000",
        "tiny",
    ]
    share = found[(found["measure"] == "share") & (found["regime"] == "p < beta")].set_index("states")
    assert share.loc["tiny", ["mean", "seeds"]].tolist() == [0.5, 3]
    half = 4.302653 * 0.25 / np.sqrt(3)  # t of 2 degrees of freedom
    assert share.loc["tiny", "high"] == pytest.approx(0.5 + half)
    assert share["low"].notna().tolist() == [False] * 4 + [True]
