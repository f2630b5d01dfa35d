"""Properties of the method specification, section 3, and a float64 oracle."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ict_core.tokens.distributions import group_divergence, renyi2_entropy, shannon_entropy


def random_log_probs(seed: int, *shape: int, scale: float = 3.0) -> torch.Tensor:
    logits = scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.log_softmax(logits, -1)


def oracle_js(p: np.ndarray, q: np.ndarray) -> float:
    m = (p + q) / 2
    return 0.5 * sum(a * math.log(a / c) for a, c in zip(p, m, strict=True) if a > 0) + 0.5 * sum(
        b * math.log(b / c) for b, c in zip(q, m, strict=True) if b > 0
    )


def test_entropies_of_a_uniform_distribution_are_ln_v():
    uniform = torch.full((7,), -math.log(7))
    assert shannon_entropy(uniform).item() == pytest.approx(math.log(7), abs=1e-6)
    assert renyi2_entropy(uniform).item() == pytest.approx(math.log(7), abs=1e-6)


def test_entropies_by_hand():
    log_probs = torch.tensor([0.5, 0.25, 0.25, 0.0], dtype=torch.float64).log()
    assert shannon_entropy(log_probs).item() == pytest.approx(1.5 * math.log(2))
    assert renyi2_entropy(log_probs).item() == pytest.approx(-math.log(0.375))


def test_two_disjoint_certainties_are_maximally_divergent_from_their_mean():
    p = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64).log()
    live = torch.tensor([True, True])
    # JS of (1, 0) to (1/2, 1/2) by hand: H(3/4, 1/4) - ln(2) / 2
    by_hand = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) - math.log(2) / 2
    assert group_divergence(p, live).tolist() == pytest.approx([by_hand, by_hand])


@given(seed=st.integers(0, 2**31 - 1), group=st.integers(1, 6), live_bits=st.integers(0, 63))
def test_divergence_agrees_with_the_oracle_and_its_bounds(seed, group, live_bits):
    log_probs = random_log_probs(seed, group, 11)
    live = torch.tensor([bool(live_bits >> i & 1) for i in range(group)])
    u = group_divergence(log_probs, live)
    assert (u >= 0).all()
    assert (u <= math.log(2)).all()
    assert (u[~live] == 0).all()
    if live.any():
        mean = log_probs.exp()[live].mean(0).numpy()
        for i in live.nonzero().flatten().tolist():
            expected = oracle_js(log_probs[i].exp().numpy(), mean)
            assert u[i].item() == pytest.approx(expected, abs=2e-6)
    if live.sum() == 1:
        assert (u == 0).all()


@given(seed=st.integers(0, 2**31 - 1))
def test_divergence_does_not_depend_on_the_order_of_the_rollouts(seed):
    log_probs = random_log_probs(seed, 5, 9)
    live = torch.tensor([True, True, False, True, True])
    order = torch.randperm(5, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(
        group_divergence(log_probs[order], live[order]), group_divergence(log_probs, live)[order]
    )


def test_equal_distributions_have_exactly_zero_divergence_in_float32():
    log_probs = random_log_probs(3, 1, 300).float().expand(6, -1)
    assert (group_divergence(log_probs, torch.ones(6, dtype=torch.bool)) == 0).all()
