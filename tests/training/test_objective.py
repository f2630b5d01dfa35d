"""The objective by hand."""

import math

import pytest
import torch

from ict_core.config.methods import Clip, Correction
from ict_core.errors import UserError
from ict_core.training.objective import importance_ratio, k3, normaliser, reward_advantages, selected_loss, surrogate

MASK = torch.tensor([[True, True, True, True], [True, True, False, False]])
CLIP = Clip(kind="clip", low=0.2, high=0.2)
KEPT = torch.tensor([[True, False, True, False], [False, False, False, False]])


@pytest.mark.parametrize(
    ("kind", "expected"), [("kept", [2, 1]), ("response", [4, 2]), ("batch_tokens", [3, 3]), ("batch_kept", [1, 1])]
)
def test_each_denominator_by_hand(kind, expected):
    assert normaliser(kind, KEPT, MASK).tolist() == expected


def test_a_batch_that_keeps_less_than_a_token_a_sequence_is_divided_by_what_it_keeps():
    one = torch.zeros_like(MASK).index_fill(1, torch.tensor([0]), True) & KEPT
    assert normaliser("batch_kept", one, MASK).tolist() == [0.5, 0.5]
    assert normaliser("batch_kept", one & ~one, MASK).tolist() == [0.5, 0.5]  # of nothing


def test_the_samplers_ratio_is_cut_to_its_bounds_or_dropped_beyond_them():
    sampler = torch.tensor([[0.0, 0.0, 0.0, math.nan], [0.0, 0.0, 5.0, 5.0]])
    old = torch.tensor([[0.25, 1.0, 4.0, 1.0], [1.0, 1.0, 1.0, 1.0]]).log()
    expected = {
        "token_truncate": [[0.5, 1.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]],
        "token_mask": [[0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]],
        "sequence_truncate": [[1.0], [1.0]],
        "sequence_mask": [[1.0], [1.0]],
    }
    for mode, ratio in expected.items():
        correction = Correction(mode=mode, clip_min=0.5, clip_max=2.0)
        assert importance_ratio(old, sampler, MASK, correction)[0].tolist() == ratio, mode
    only_above = Correction(mode="sequence_mask", clip_max=2.0)
    ratio, beyond = importance_ratio(old - 1, sampler, MASK, only_above)
    assert ratio.flatten().tolist() == pytest.approx([math.exp(-3), math.exp(-2)]) and not beyond.any()
    ratio, beyond = importance_ratio(old + 1, sampler, MASK, only_above)
    assert ratio.flatten().tolist() == [0.0, 0.0] and beyond.all()
    assert not importance_ratio(old - 200, sampler, MASK, only_above)[1].any()  # a ratio of 0 that no bound made


def test_a_sequence_that_keeps_nothing_adds_zero_and_still_counts():
    per_token = torch.ones(2, 4)
    assert selected_loss(per_token, KEPT.float(), normaliser("kept", KEPT, MASK)).item() == pytest.approx(0.5)


def test_the_surrogate_clips_on_the_side_of_the_advantage():
    logps = torch.tensor([[1.5, 1.1, 0.5], [1.5, 1.1, 0.5]]).log()
    every = torch.ones_like(logps).bool()
    parts, binds = surrogate(CLIP, logps, torch.zeros_like(logps), torch.tensor([[1.0], [-1.0]]), every)
    assert parts.tolist() == [pytest.approx([1.2, 1.1, 0.5]), pytest.approx([-1.5, -1.1, -0.8])]
    assert binds.tolist() == [[True, False, False], [False, False, True]]


def test_rewards_as_advantages_by_hand():
    assert reward_advantages(torch.tensor([1.0, 0.0, torch.nan, 0.75])).tolist() == [1.0, -1.0, 0.0, 0.5]
    with pytest.raises(UserError, match=r"^advantage: reward: .* 1.5; allowed: from 0"):
        reward_advantages(torch.tensor([0.0, 1.5]))


def test_k3_by_hand():
    assert k3(torch.tensor([0.0]), torch.tensor([math.log(2)])).item() == pytest.approx(2 - math.log(2) - 1)


def test_a_weight_is_the_factor_of_the_tokens_advantage():
    generator = torch.Generator().manual_seed(1)
    logps, old = (torch.randn(2, 4, generator=generator) for _ in range(2))
    advantages, weights = torch.tensor([[1.3], [-0.4]]), 2 * torch.rand(2, 4, generator=generator)
    counts, found = normaliser("response", MASK, MASK), []
    for factor, shaped in ((weights * MASK, advantages), (MASK.float(), weights * advantages)):
        own = logps.clone().requires_grad_()
        loss = selected_loss(surrogate(CLIP, own, old, shaped, MASK)[0], factor, counts)
        loss.backward()
        found.append((loss.item(), own.grad))
    assert found[0][0] == pytest.approx(found[1][0])
    assert torch.allclose(found[0][1], found[1][1])
