"""What sets of tokens carry of GRPO's gradient, packed and padded, against autograd in float64 rollout by rollout."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from ict_core.models.read import read_model, read_tokenizer
from ict_core.shadow.gradients import gradient_shares
from ict_core.shadow.rollouts import Rollouts, predicting_states
from ict_core.training.fast.packed_forward import add_packed_forward

TEMPERATURE = 0.8
ADVANTAGES = torch.tensor([1.0, -0.5, -0.5, 0.0])


@pytest.fixture(scope="module")
def rollouts(tiny_checkpoint):
    generator = torch.Generator().manual_seed(0)
    ids = [torch.randint(5, 60, (length,), generator=generator) for length in (9, 4, 1, 6)]
    ids[1][:3] = ids[0][:3]  # two answers that begin alike
    return Rollouts.of(read_tokenizer(tiny_checkpoint), ["1 + 1 ="] * 4, ids)


@pytest.fixture(scope="module", params=[True, False], ids=["packed", "padded"])
def reader(request, tiny_checkpoint):
    """The model, and whether it reads packed."""
    model = read_model(tiny_checkpoint, "float32").eval()
    if request.param:
        add_packed_forward(model, TEMPERATURE)
    return model, request.param


def oracle(checkpoint, rollouts, kept):
    """The gradient from each rollout by itself, without padding."""
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float64)
    for row, live in enumerate(rollouts.completion_mask):
        prompt, response = rollouts.prompt_ids[row][rollouts.prompt_mask[row]], rollouts.completion_ids[row][live]
        logits = model(torch.cat([prompt, response])[None]).logits[0, len(prompt) - 1 : -1] / TEMPERATURE
        log_probs = torch.log_softmax(logits, -1).gather(1, response[:, None]).squeeze(1)
        (ADVANTAGES[row].double() / len(response) * log_probs * kept[row][live]).sum().backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()]).numpy()


def test_shares_and_cosines_are_those_of_autograd(rollouts, tiny_checkpoint, reader):
    (model, packed), mask = reader, rollouts.completion_mask
    half = mask & (torch.rand(mask.shape, generator=torch.Generator().manual_seed(1)) < 0.5)
    found = gradient_shares(model, rollouts, ADVANTAGES, [half, mask, torch.zeros_like(mask)], TEMPERATURE, packed)
    whole, part = (oracle(tiny_checkpoint, rollouts, kept) for kept in (mask, half))
    norms = np.linalg.norm(part), np.linalg.norm(whole)
    assert found[0] == pytest.approx((norms[0] / norms[1], part @ whole / np.prod(norms)), abs=1e-5)
    assert found[1] == (1.0, 1.0) and found[2][0] == 0 and np.isnan(found[2][1])
    assert all(p.grad is None for p in model.parameters())


def test_states_predict_the_tokens_as_each_sequence_by_itself(rollouts, reader):
    model, packed = reader
    with torch.no_grad():
        states, where = predicting_states(model, rollouts, packed)
        for row, live in enumerate(rollouts.completion_mask):
            prompt = rollouts.prompt_ids[row][rollouts.prompt_mask[row]]
            alone = torch.cat([prompt, rollouts.completion_ids[row][live]])[None]
            own = model.get_decoder()(input_ids=alone, use_cache=False).last_hidden_state[0, len(prompt) - 1 : -1]
            assert states[where[row][live]] == pytest.approx(own, abs=1e-5)
    assert (where[~rollouts.completion_mask] == -1).all()


def test_some_rows_lose_the_padding_of_the_others(rollouts):
    short = rollouts.rows(slice(1, 3))
    assert short.completion_ids.shape == (2, 4) and short.completion_mask.sum(1).tolist() == [4, 1]
    assert torch.equal(short.completion_ids[0], rollouts.completion_ids[1, :4])
