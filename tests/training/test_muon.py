"""Muon against torch's own in float64-like precision, and its error."""

import pytest
import torch

from ict_core.training.pretrain import Muon, orthogonalise


@pytest.mark.parametrize("shape", [(8, 8), (4, 12), (12, 4)])
def test_singular_values_are_pushed_to_about_one(shape):
    matrices = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalise(matrices))
    assert values.min() > 0.3
    assert values.max() < 1.3


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


def test_a_vector_is_refused():
    with pytest.raises(ValueError, match="two-dimensional"):
        Muon([torch.nn.Parameter(torch.zeros(3))], lr=0.1)
