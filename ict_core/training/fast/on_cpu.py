"""The two costly parts of a packed pass on a CPU: as in torch and TRL, but with fewer passes through memory."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

_LOGITS_AT_ONCE = 2**19  # 2 MiB in float32, which stay in the cache for all operations on them
_ROWS_AT_ONCE = 64  # at least, however large the vocabulary is: a product of fewer rows is slow


def fits(x: Tensor) -> bool:
    """Whether this module is for such a tensor: float32 on a CPU, without autocast."""
    return x.device.type == "cpu" and x.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")


class ShortAttention(torch.autograd.Function):
    """softmax(scale * q @ k.T) @ v for short sequences, where each query sees the keys up to its own position.

    q is (B, H, Q, D), k and v are (B, H, L, D). The queries are the last Q of the L positions. The probabilities,
    B x H x Q x L, are kept for the backward pass: torch's attention, which recomputes them, takes twice as long.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        causal_mask = torch.full((q.size(2), k.size(2)), -torch.inf).triu_(1 + k.size(2) - q.size(2))
        parts = [part.flatten(0, 1) for part in (q * scale, k, v)]
        p = torch.baddbmm(causal_mask, parts[0], parts[1].mT).softmax(-1)
        ctx.save_for_backward(*parts, p)
        ctx.scale = scale
        return torch.bmm(p, parts[2]).unflatten(0, q.shape[:2])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        q, k, v, p = ctx.saved_tensors
        shape, gradient = gradients[0].shape[:2], gradients[0].flatten(0, 1)
        grad_v = torch.bmm(p.mT, gradient)
        grad_scores = torch._softmax_backward_data(torch.bmm(gradient, v.mT), p, -1, p.dtype)
        grad_q, grad_k = torch.bmm(grad_scores, k).mul_(ctx.scale), torch.bmm(grad_scores.mT, q)
        grad_q, grad_k, grad_v = (part.unflatten(0, shape) for part in (grad_q, grad_k, grad_v))
        return grad_q, grad_k, grad_v, None


class LogProbs(torch.autograd.Function):
    """TRL's ``ChunkedLogProbFunction`` without bias and optional outputs, for some tokens at a time, in the cache."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: None,
        targets: Tensor,
        temperature: float,
        chunk_size: int,
        softcap: float | None,
        logit_scale: float,
        outputs: tuple[str, ...],
    ) -> tuple[Tensor, None, None, None, None]:
        ctx.softcap, ctx.temperature = softcap, temperature
        ctx.factor = logit_scale / (temperature if softcap is None else softcap)
        ctx.save_for_backward(hidden, weight, targets)
        parts = []
        for states, tokens in _parts(hidden, targets, weight):
            logits = _logits(ctx, states * ctx.factor, weight)[0]
            parts.append(logits.log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1))
        return torch.cat(parts), None, None, None, None

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, targets = ctx.saved_tensors
        grad_weight = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
        parts, start = [], 0
        for states, tokens in _parts(hidden, targets, weight):
            states = states * ctx.factor
            gradient = gradients[0][start : start + len(states), None]
            start += len(states)
            logits, slope = _logits(ctx, states, weight)
            grad_logits = logits.softmax(-1).mul_(-gradient).scatter_add_(-1, tokens.unsqueeze(-1), gradient)
            if slope is not None:
                grad_logits.mul_(slope)
            parts.append((grad_logits @ weight).mul_(ctx.factor))
            if grad_weight is not None:
                grad_weight.addmm_(grad_logits.T, states)
        return torch.cat(parts), grad_weight, *(None,) * 7


def _parts(hidden: Tensor, targets: Tensor, weight: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    rows = max(_ROWS_AT_ONCE, _LOGITS_AT_ONCE // len(weight))
    return zip(hidden.split(rows), targets.split(rows), strict=True)


def _logits(ctx: Any, states: Tensor, weight: Tensor) -> tuple[Tensor, Tensor | None]:
    """The logits at the temperature, and with a softcap their derivative with respect to the product."""
    product = states @ weight.T
    if ctx.softcap is None:
        return product, None
    capped, factor = product.tanh_(), ctx.softcap / ctx.temperature
    return capped * factor, (1 - capped.square()) * factor
