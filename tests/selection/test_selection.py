"""Every rule by hand, and the properties that the method specification states."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ict_core.selection import SELECTORS
from ict_core.selection.base import register, top_fraction
from ict_core.tokens.streaming import TokenStatistics

PARAMETERS = {
    "grpo": {},
    "ict": {"fraction": Fraction(1, 10)},
    "high-entropy": {"fraction": Fraction(1, 5)},
    "stapo": {"tau_p": 0.002, "tau_h": 0.2},
    "random": {"fraction": Fraction(1, 10)},
}


def statistics(h1, *, logprob=None, js=None) -> TokenStatistics:
    h1 = torch.as_tensor(h1, dtype=torch.float32)
    zeros = torch.zeros_like(h1)
    return TokenStatistics(zeros if logprob is None else logprob, h1, zeros, zeros if js is None else js)


def random_batch(seed: int, rows: int = 6, length: int = 23):
    g = torch.Generator().manual_seed(seed)
    draw = [torch.rand(rows, length, generator=g) for _ in range(4)]
    mask = torch.arange(length) < torch.randint(1, length + 1, (rows, 1), generator=g)
    tokens = TokenStatistics((draw[0] * 0.01).log() * mask, draw[1] * mask, draw[2] * mask, draw[3] * mask)
    return tokens, torch.randn(rows, generator=g), mask


def select(name: str, tokens, advantages, mask, seed: int = 0, **parameters):
    generator = torch.Generator().manual_seed(seed)
    return SELECTORS[name](tokens, advantages, mask, generator, **(parameters or PARAMETERS[name]))


def test_the_registry_holds_the_rules():
    assert set(SELECTORS) == set(PARAMETERS)


def test_a_name_is_registered_once():
    with pytest.raises(ValueError, match="'ict'"):
        register("ict")(SELECTORS["grpo"])


@given(seed=st.integers(0, 1000))
@pytest.mark.parametrize("name", PARAMETERS)
def test_nothing_outside_the_response_is_kept_and_a_repeat_is_equal(name, seed):
    tokens, advantages, mask = random_batch(seed)
    kept = select(name, tokens, advantages, mask)
    assert kept.dtype == torch.bool
    assert not (kept & ~mask).any()
    assert torch.equal(kept, select(name, tokens, advantages, mask))


@given(seed=st.integers(0, 1000), percent=st.integers(1, 100))
@pytest.mark.parametrize("name", ["ict", "random"])
def test_the_number_kept_is_the_exact_ceiling(name, seed, percent):
    tokens, advantages, mask = random_batch(seed)
    kept = select(name, tokens, advantages, mask, fraction=Fraction(percent, 100))
    lengths = mask.sum(-1).tolist()
    assert kept.sum(-1).tolist() == [-(-percent * length // 100) for length in lengths]


def test_seven_percent_of_a_hundred_tokens_is_seven():
    mask = torch.ones(1, 100, dtype=torch.bool)
    assert top_fraction(torch.arange(100.0)[None], mask, Fraction(7, 100)).sum() == 7


def test_ties_go_to_the_earlier_position():
    score = torch.tensor([[1.0, 2.0, 2.0, 2.0, 0.0]])
    mask = torch.tensor([[True, True, True, True, False]])
    assert top_fraction(score, mask, Fraction(1, 2)).tolist() == [[False, True, True, False, False]]


def test_grpo_keeps_everything():
    tokens, advantages, mask = random_batch(1)
    assert torch.equal(select("grpo", tokens, advantages, mask), mask)


def test_ict_keeps_the_most_divergent():
    js = torch.tensor([[0.0, 0.3, 0.1, 0.2]])
    mask = torch.ones(1, 4, dtype=torch.bool)
    kept = select("ict", statistics(torch.zeros(1, 4), js=js), torch.zeros(1), mask, fraction=Fraction(1, 2))
    assert kept.tolist() == [[False, True, False, True]]


def test_high_entropy_has_one_threshold_for_the_batch():
    h1 = torch.tensor([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    kept = select("high-entropy", statistics(h1), torch.zeros(2), mask, fraction=Fraction(2, 5))
    # of 0.1 0.2 0.3 0.8 0.9 the 60 % quantile is 0.3 + 0.4 * 0.5 = 0.5
    assert kept.tolist() == [[False, False, False], [True, True, False]]


def test_stapo_drops_only_improbable_certain_tokens_of_successes():
    h1 = torch.tensor([[0.0, 0.5, 0.6, 0.7], [0.0, 0.5, 0.6, 0.7]])
    p = torch.tensor([[0.001, 0.001, 0.5, 0.5], [0.001, 0.5, 0.5, 0.5]])
    mask = torch.ones(2, 4, dtype=torch.bool)
    tokens = statistics(h1, logprob=p.log())
    kept = select("stapo", tokens, torch.tensor([1.0, -1.0]), mask, tau_p=0.002, tau_h=0.3)
    assert kept.tolist() == [[False, True, True, True], [True, True, True, True]]


def test_random_depends_on_the_seed_alone():
    tokens, advantages, mask = random_batch(5)
    other, _, _ = random_batch(6)
    assert torch.equal(
        select("random", tokens, advantages, mask, seed=1), select("random", other, -advantages, mask, seed=1)
    )
    assert not torch.equal(
        select("random", tokens, advantages, mask, seed=1), select("random", tokens, advantages, mask, seed=2)
    )
