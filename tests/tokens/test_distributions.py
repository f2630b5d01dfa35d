"""Properties of the method specification, section 3, and a float64 oracle."""

import math
from itertools import product

import pytest
import torch
from scipy.spatial.distance import cityblock, jensenshannon
from scipy.special import rel_entr
from scipy.stats import wasserstein_distance

from ict_core.tokens.distributions import (
    DIVERGENCES,
    SMALLEST_DIVERGENCE,
    jensen_shannon,
    kullback_leibler,
    leave_one_out_mean,
    position_mean,
    renyi2_entropy,
    shannon_entropy,
    total_variation,
    wasserstein,
    whole_group_mean,
)


def test_ended_rollouts_add_zeros_or_the_uniform_distribution_by_hand():
    probs = torch.tensor([[1.0, 0.0], [0.0, 0.0]], dtype=torch.float64)  # of two rollouts one has ended
    live = torch.tensor([True, False])
    zeros, uniform = (whole_group_mean(probs, live, uniform=kind) for kind in (False, True))
    assert zeros.tolist() == [[0.5, 0.0]] and uniform.tolist() == [[0.75, 0.25]]
    # the middle of (1, 0) and q is (3/4, 0), and (7/8, 1/8)
    by_hand = (math.log(4 / 3) + 0.5 * math.log(2 / 3)) / 2
    assert jensen_shannon(probs, zeros)[0].item() == pytest.approx(by_hand)
    by_hand = (math.log(8 / 7) + 0.75 * math.log(6 / 7) + 0.25 * math.log(2)) / 2
    assert jensen_shannon(probs, uniform)[0].item() == pytest.approx(by_hand)
    everyone = torch.tensor([True, True])
    both = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64)
    for kind in (False, True):
        assert torch.equal(whole_group_mean(both, everyone, uniform=kind), position_mean(both, everyone))


def random_log_probs(seed: int, *shape: int, scale: float = 3.0) -> torch.Tensor:
    logits = scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.log_softmax(logits, -1)


def test_entropies_by_hand():
    uniform = torch.full((7,), -math.log(7))
    assert shannon_entropy(uniform).item() == pytest.approx(math.log(7), abs=1e-6)
    assert renyi2_entropy(uniform).item() == pytest.approx(math.log(7), abs=1e-6)
    log_probs = torch.tensor([0.5, 0.25, 0.25, 0.0], dtype=torch.float64).log()
    assert shannon_entropy(log_probs).item() == pytest.approx(1.5 * math.log(2))
    assert renyi2_entropy(log_probs).item() == pytest.approx(-math.log(0.375))


def u(log_probs: torch.Tensor, live: torch.Tensor) -> torch.Tensor:
    """The score of ICT, before rounding is taken off."""
    probs = log_probs.exp() * live.unsqueeze(-1)
    return jensen_shannon(probs, position_mean(probs, live)) * live


def test_two_disjoint_certainties_are_maximally_divergent_from_their_mean():
    p = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64).log()
    live = torch.tensor([True, True])
    # JS of (1, 0) to (1/2, 1/2) by hand: H(3/4, 1/4) - ln(2) / 2
    by_hand = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) - math.log(2) / 2
    assert u(p, live).tolist() == pytest.approx([by_hand, by_hand])


@pytest.mark.parametrize("group", range(1, 6))
def test_the_score_agrees_with_scipy_and_its_bounds(group):
    for bits, own in enumerate(product([False, True], repeat=group)):
        log_probs, live = random_log_probs(bits, group, 11), torch.tensor(own)
        found = u(log_probs, live)
        assert (found >= -1e-12).all() and (found <= math.log(2)).all() and not found[~live].any()
        mean = log_probs.exp()[live].mean(0).numpy()
        for i in live.nonzero().flatten().tolist():
            assert found[i].item() == pytest.approx(jensenshannon(log_probs[i].exp(), mean) ** 2, abs=1e-12)


def test_equal_distributions_have_no_divergence_beyond_rounding_in_float32():
    log_probs = random_log_probs(3, 1, 300).float().expand(6, -1)
    probs, live = log_probs.exp(), torch.ones(6, dtype=torch.bool)
    for name, divergence in DIVERGENCES.items():
        for mean in (position_mean, leave_one_out_mean):
            largest = divergence(probs, mean(probs, live)).abs().max()
            assert largest < SMALLEST_DIVERGENCE * (300 if name == "wasserstein" else 1)


def test_divergences_by_hand():
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.25, 0.5])
    assert kullback_leibler(p, q).item() == pytest.approx(math.log(2))
    assert total_variation(p, q).item() == pytest.approx(0.5)
    assert wasserstein(p, q).item() == pytest.approx(0.75)  # a quarter by one index, a quarter by two


def test_a_term_whose_mean_underflows_is_nothing_and_any_other_probability_beside_0_is_infinite():
    least = 2.0**-149  # of float32: a third of it is 0
    p = torch.tensor([[1.0, least], [1.0, 0.0], [1.0, 0.0]])
    q = position_mean(p, torch.tensor([True] * 3))
    assert p[0, 1] > 0 and q[0, 1] == 0
    assert kullback_leibler(p, q).tolist() == [0.0, 0.0, 0.0]
    assert kullback_leibler(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0])).item() == math.inf


@pytest.mark.parametrize("seed", range(5))
def test_divergences_agree_with_scipy(seed):
    p, q = random_log_probs(seed, 2, 12).exp()
    assert wasserstein(p, q).item() == pytest.approx(wasserstein_distance(range(12), range(12), p, q))
    assert kullback_leibler(p, q).item() == pytest.approx(rel_entr(p.numpy(), q.numpy()).sum())
    assert jensen_shannon(p, q).item() == pytest.approx(jensenshannon(p, q) ** 2)
    assert total_variation(p, q).item() == pytest.approx(cityblock(p, q) / 2)


def test_the_leave_one_out_mean_is_that_of_the_others_or_its_own():
    probs = random_log_probs(1, 3, 5).exp()
    live = torch.tensor([True, False, True])
    found = leave_one_out_mean(probs * live[:, None], live)
    torch.testing.assert_close(found[[0, 2]], probs[[2, 0]])
    alone = torch.tensor([True, False, False])
    torch.testing.assert_close(leave_one_out_mean(probs * alone[:, None], alone)[0], probs[0])
