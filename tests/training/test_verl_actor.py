"""`examples/verl_actor.py` on tensors of the shapes that verl's actor gives its loss; verl itself is not installed."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForCausalLM

from ict_core import Choice, select

ROOT = Path(__file__).parents[2]
B, P, T, G = 8, 5, 12, 4
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def example():
    return SimpleNamespace(**runpy.run_path(str(ROOT / "examples" / "verl_actor.py")))


@pytest.fixture
def data():
    random = torch.Generator().manual_seed(0)
    ids = torch.randint(3, 40, (B, P + T), generator=random)
    seen = torch.ones(B, P + T, dtype=torch.long)
    seen[0, :2], seen[3, -4:] = 0, 0  # a short prompt, a response that ended
    advantages = torch.randn(B, 1, generator=random) * seen[:, -T:]
    batch = {"input_ids": ids, "attention_mask": seen, "responses": ids[:, -T:], "response_mask": seen[:, -T:]}
    return SimpleNamespace(batch=batch | {"advantages": advantages}, meta_info={"temperature": 0.7})


def test_the_mask_is_what_select_keeps_of_the_same_rollouts(example, data, tiny_checkpoint):
    model = AutoModelForCausalLM.from_pretrained(tiny_checkpoint)
    before = dict(data.batch)
    example.keep_tokens(model, data, example.ICT, group_size=G, step=20)
    rollouts = {
        "prompt_ids": before["input_ids"][:, :P],
        "prompt_mask": before["attention_mask"][:, :P],
        "completion_ids": before["responses"],
        "completion_mask": before["response_mask"],
        "advantages": before["advantages"][:, 0],
    }
    wanted = select(model, rollouts, Choice.of("ict-10", 10), group_size=G, temperature=0.7, seed=20, step=20)
    kept = data.batch["response_mask"]
    assert torch.equal(kept, wanted.weights.float()) and kept.shape == (B, T)
    assert 0 < kept.sum() < before["response_mask"].sum() and (kept[3, -4:] == 0).all()


def test_verls_mean_over_the_mask_is_icts_normaliser(example, data, tiny_checkpoint):
    model = AutoModelForCausalLM.from_pretrained(tiny_checkpoint)
    example.keep_tokens(model, data, example.ICT, group_size=G, step=20)
    mask, loss = data.batch["response_mask"], torch.arange(B * T).float().view(B, T)
    by_verl = (loss * mask).sum(1) / mask.sum(1)  # `agg_loss` under seq-mean-token-mean, of each response
    assert torch.equal(mask.sum(1), torch.tensor([2.0, 2, 2, 1, 2, 2, 2, 2]))  # a tenth of 12, and of 8, rounded up
    assert by_verl.isfinite().all()


def test_the_warm_up_trains_every_token(example, data, tiny_checkpoint):
    every = data.batch["response_mask"].float()
    example.keep_tokens(AutoModelForCausalLM.from_pretrained(tiny_checkpoint), data, example.ICT, group_size=G, step=3)
    assert torch.equal(data.batch["response_mask"], every)
