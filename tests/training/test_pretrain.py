"""Pretraining: the loss against transformers' own, value and every gradient, and Muon against torch's."""

import pytest
import torch
from torch import nn
from transformers import Qwen2Config, Qwen2ForCausalLM

from ict_core.training.pretrain import Muon, SolutionLoss


@pytest.mark.parametrize(("layers", "kv_heads", "tied"), [(1, 4, True), (3, 2, False)])
def test_loss_and_gradients_are_those_of_the_model_itself(layers, kv_heads, tied):
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": layers}
    heads = {"num_attention_heads": 4, "num_key_value_heads": kv_heads}
    model = Qwen2ForCausalLM(Qwen2Config(**sizes, **heads, tie_word_embeddings=tied, rms_norm_eps=0.01)).double()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.5)
    ids = torch.randint(50, (5, 12))
    labels = ids.clone()
    labels[:, :4] = -100
    labels[0, 7:] = -100  # padding on the right
    labels[1] = -100  # a row without any label
    labels[2, 6] = -100
    labels[3, 0] = ids[3, 0]  # which nothing predicts
    own = model(input_ids=ids, labels=labels).loss
    own.backward()
    expected = {name: weight.grad for name, weight in model.named_parameters()}
    model.zero_grad()
    loss = SolutionLoss(model, 20)(ids, labels)
    loss.backward()
    assert loss.item() == pytest.approx(own.item(), rel=1e-6)  # transformers takes the softmax in float32
    for name, weight in model.named_parameters():
        torch.testing.assert_close(weight.grad, expected[name], rtol=1e-5, atol=1e-6 * expected[name].abs().max())


def test_a_step_is_that_of_torch_up_to_its_bfloat16():
    g = torch.Generator().manual_seed(0)
    start, gradients = torch.randn(6, 10, generator=g), torch.randn(3, 6, 10, generator=g)
    ours, torchs = (torch.nn.Parameter(start.clone()) for _ in range(2))
    optimizers = [Muon([ours], lr=0.1), torch.optim.Muon([torchs], lr=0.1, weight_decay=0.0, momentum=0.95)]
    for gradient in gradients:
        for parameter, optimizer in zip((ours, torchs), optimizers, strict=True):
            parameter.grad = gradient.clone()
            optimizer.step()
    torch.testing.assert_close(ours, torchs, atol=0.02, rtol=0.0)
    assert (ours - start).abs().max() > 0.05
