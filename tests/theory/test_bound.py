"""The bound on the probability of kept tokens, by simulation on random distributions and rules."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ict_core.theory.bound import least_probability
from ict_core.tokens.distributions import renyi2_entropy, shannon_entropy

TOKENS = 10_000
RULES = {  # scores that see distributions, and nothing of the token drawn
    "random": lambda p, h1, beta, rng: rng.random(len(p)),
    "high entropy": lambda p, h1, beta, rng: h1,
    "low entropy": lambda p, h1, beta, rng: -h1,
    "middle entropy": lambda p, h1, beta, rng: -np.abs(h1 - np.median(h1)),
    "far from the last": lambda p, h1, beta, rng: np.abs(p - np.roll(p, 1, 0)).sum(1),
    "impure for its entropy": lambda p, h1, beta, rng: -beta * np.exp(h1),
}


@pytest.fixture(scope="module", params=range(3))
def sampled(request):
    """Random distributions p, (TOKENS, V), peaked and flat: H1, beta, the probability of a token drawn from each."""
    seed = request.param
    rng = np.random.default_rng(seed)
    size, concentration = int(rng.integers(2, 30)), np.exp(rng.normal(-1.5, 2.0, TOKENS))
    logits = np.log(rng.gamma(concentration[:, None], size=(TOKENS, size)) + 1e-300)
    log_probs = torch.log_softmax(torch.from_numpy(logits), -1)
    p, h1 = log_probs.exp().numpy(), shannon_entropy(log_probs).numpy()
    beta = (-renyi2_entropy(log_probs)).exp().numpy()
    drawn = (p.cumsum(1) > rng.random((TOKENS, 1)) * p.sum(1, keepdims=True)).argmax(1)
    return rng, p, h1, beta, p[np.arange(TOKENS), drawn]


@pytest.mark.parametrize("rule", RULES)
def test_kept_tokens_are_as_probable_as_beta_and_no_less_than_the_bound(rule, sampled):
    rng, p, h1, beta, probability = sampled
    assert (beta >= np.exp(-h1) - 1e-12).all()
    score = RULES[rule](p, h1, beta, rng)
    for kept_share in (0.05, 0.1, 0.5):
        kept = score >= np.quantile(score, 1 - kept_share)
        variance = (p[kept] ** 3).sum() - (beta[kept] ** 2).sum()  # of the sum of the kept tokens' probabilities
        error = (5 * variance**0.5 + 10) / kept.sum()  # Bernstein's, as surprises among sure tokens are rare
        assert probability[kept].mean() == pytest.approx(beta[kept].mean(), abs=error)
        for limit in np.quantile(h1, [0.1, 0.5, 0.9]):
            low = float((h1[kept] <= limit).mean())
            assert beta[kept].mean() >= least_probability(low, float(limit)) - 1e-12
            assert probability[kept].mean() >= least_probability(low, float(limit)) - error


def test_a_rule_that_looks_at_the_token_drawn_goes_below_the_bound(sampled):
    _, _, h1, _, probability = sampled
    median = float(np.median(h1))
    kept = np.zeros(TOKENS, dtype=bool)
    for side in (h1 <= median, h1 > median):  # half of the kept tokens on either side, the least probable of each
        kept |= side & (probability <= np.quantile(probability[side], 0.02))
    low = float((h1[kept] <= median).mean())
    assert 0.4 < low < 0.6 and probability[kept].mean() < least_probability(low, median) / 2


@given(st.integers(2, 1000), st.floats(0, 1))
def test_uniform_distributions_of_one_entropy_reach_it(size, share):
    log_probs = torch.full((size,), -math.log(size), dtype=torch.float64)
    h1, beta = shannon_entropy(log_probs).item(), math.exp(-renyi2_entropy(log_probs).item())
    assert least_probability(share, h1) == pytest.approx(share * beta)


def test_by_hand_what_the_paper_prints():
    assert least_probability(0.5, 0.002) == pytest.approx(0.499001, abs=1e-6)
    needed = math.log(0.444 / 0.27)  # the ranges of the two claims at their most lenient
    assert needed == pytest.approx(0.4974, abs=1e-4)
    assert least_probability(0.444, needed) == pytest.approx(0.27)
