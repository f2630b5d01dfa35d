"""A CPU's own attention and head: what torch's and TRL's give, and the same gradients."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from trl.kernels import ChunkedLogProbFunction

from ict_core.training.fast.on_cpu import LogProbs, ShortAttention


def close(own, other):
    return all(torch.allclose(a, b, rtol=1e-4, atol=2e-6) for a, b in zip(own, other, strict=True))


@pytest.mark.parametrize("asked", [1, 5, 12])
def test_attention_of_the_last_queries_is_torch_s(asked):
    draw = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(3, 2, 12, 8, generator=draw, requires_grad=True) for _ in range(3))
    gradient = torch.randn(3, 2, asked, 8, generator=draw)
    whole = scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)[:, :, -asked:]
    own = ShortAttention.apply(q[:, :, -asked:], k, v, 0.3)
    assert close([own, *torch.autograd.grad(own, (q, k, v), gradient)],
                 [whole, *torch.autograd.grad(whole, (q, k, v), gradient)])  # fmt: skip


@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize("vocabulary", [40, 20_000])  # in one part, and in several
def test_log_probs_are_trl_s(softcap, vocabulary):
    draw = torch.Generator().manual_seed(0)
    hidden = torch.randn(150, 16, generator=draw, requires_grad=True)
    weight = (torch.randn(vocabulary, 16, generator=draw) / 4).requires_grad_()
    targets, gradient = torch.randint(vocabulary, (150,), generator=draw), torch.randn(150, generator=draw)
    made = []
    for function in (LogProbs, ChunkedLogProbFunction):
        log_probs = function.apply(hidden, weight, None, targets, 0.7, 32_768, softcap, 1.3, ())[0]
        made.append([log_probs, *torch.autograd.grad(log_probs, (hidden, weight), gradient)])
    assert close(*made)
