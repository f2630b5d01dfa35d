"""The probe's verdict, from log-probabilities that are given."""

from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForCausalLM

from ict_core.errors import UserError
from ict_core.training._rollouts import weight_difference

PROMPTS = [[9, 8, 7, 6], [5, 4]]


@pytest.fixture(scope="module")
def model(tiny_checkpoint):
    return AutoModelForCausalLM.from_pretrained(tiny_checkpoint, dtype="float32").eval()


@pytest.fixture
def own(model):
    """The model's log-probs of each prompt's tokens but the first, from its own logits in float64."""
    with torch.no_grad():
        return [
            model(torch.tensor([p])).logits[0].double().log_softmax(-1)[torch.arange(len(p) - 1), p[1:]]
            for p in PROMPTS
        ]


def check(model, probed, bound=0.1):
    accelerator = SimpleNamespace(device=torch.device("cpu"), gather=lambda t: t, autocast=torch.no_grad)
    sampler = SimpleNamespace(probe=PROMPTS, take_probe=lambda: probed)
    return weight_difference(sampler, accelerator, model, bound=bound, step=3)


def test_equal_weights_pass_and_the_mean_is_over_tokens(model, own):
    assert check(model, own) == pytest.approx(0, abs=1e-5)
    assert check(model, [own[0] + 0.1, own[1]]) == pytest.approx(0.075, abs=1e-4)  # three tokens of four
    assert check(model, None) == 0  # another rank's vLLM was asked


@pytest.mark.parametrize("wrong", [0.2, float("nan")])
def test_other_weights_stop_the_run_with_step_difference_and_bound(model, own, wrong):
    with pytest.raises(UserError, match=r"step 3: .*4|step 3: .* 2 fixed prompts .*rollouts.probe_bound"):
        check(model, [own[0] + wrong, own[1] + wrong])
