"""The pretraining loss of a Qwen2 model, ``model(input_ids, labels=labels).loss`` in fewer and smaller operations.

The same up to rounding, of which the order of operations decides: another order makes other weights. The last layer's
MLP, the last norm, the head and the softmax see only the states that predict a label. Weights on one input are joined,
with RMSNorm's weight multiplied in. The rotary embedding is one complex product, for which the two halves of a query or
key are interleaved.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, embedding, linear, scaled_dot_product_attention, silu
from transformers import Qwen2ForCausalLM

_IGNORED = -100


class SolutionLoss:
    """The loss of a model of :func:`ict_core.training.pretrain.build_model`, for rows of up to ``longest`` tokens."""

    def __init__(self, model: Qwen2ForCausalLM, longest: int) -> None:
        self._model: Any = model
        cos, sin = self._model.model.rotary_emb(model.lm_head.weight, torch.arange(longest)[None])
        half = cos.size(-1) // 2
        self._rotation = torch.complex(cos[0, :, None, :half].contiguous(), sin[0, :, None, :half].contiguous())

    def __call__(self, input_ids: Tensor, labels: Tensor) -> Tensor:
        """Mean negative log-likelihood of the labels, nats a token.

        Args:
            input_ids: (B, T), padded on the right.
            labels: (B, T), those of their own positions, -100 where there is none.
        """
        decoder = self._model.model
        *layers, last = decoder.layers
        x = embedding(input_ids.flatten(), decoder.embed_tokens.weight)
        for layer in layers:
            seen = self._seen(layer, x, input_ids.shape)
            x = _with_mlp(layer, torch.addmm(x, seen, layer.self_attn.o_proj.weight.T))
        wanted = labels.roll(-1, 1)
        wanted[:, -1] = _IGNORED
        at = (wanted != _IGNORED).flatten().nonzero().squeeze(1)
        seen = self._seen(last, x, input_ids.shape)[at]
        x = _with_mlp(last, torch.addmm(x[at], seen, last.self_attn.o_proj.weight.T))
        return cross_entropy(_projected(x, decoder.norm, self._model.lm_head.weight), wanted.flatten()[at])

    def _seen(self, layer: Any, x: Tensor, shape: torch.Size) -> Tensor:
        """What the attention of a layer hands to its output projection, (B T, heads * head size)."""
        attention = layer.self_attn
        width = attention.head_dim
        parts = attention.q_proj, attention.k_proj, attention.v_proj
        heads, kv_heads, _ = (part.out_features // width for part in parts)
        weight, bias = _joined([p.weight for p in parts], width), _joined([p.bias for p in parts], width)
        qkv = _projected(x, layer.input_layernorm, weight, bias).view(*shape, -1, width)
        qk, v = qkv.split([heads + kv_heads, kv_heads], 2)
        turned = torch.view_as_complex(qk.unflatten(-1, (-1, 2))) * self._rotation[: shape[1]]
        q, k = torch.view_as_real(turned).flatten(-2).transpose(1, 2).split([heads, kv_heads], 1)
        grouped = heads != kv_heads
        seen = scaled_dot_product_attention(q, k, v.transpose(1, 2), is_causal=True, enable_gqa=grouped)
        return seen.transpose(1, 2).reshape(len(x), -1)


def _joined(parts: list[Tensor], width: int) -> Tensor:
    """Rows of queries, keys and values; those of the first two with the halves of each head interleaved."""
    turning = torch.cat(parts[:2]).unflatten(0, (-1, 2, width // 2))
    return torch.cat([turning.transpose(1, 2).flatten(0, 2), parts[2]])


def _with_mlp(layer: Any, x: Tensor) -> Tensor:
    mlp = layer.mlp
    joined = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])
    gate, up = _projected(x, layer.post_attention_layernorm, joined).chunk(2, -1)
    return torch.addmm(x, silu(gate) * up, mlp.down_proj.weight.T)


def _projected(x: Tensor, norm: Any, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``linear(norm(x), weight, bias)``."""
    floor = x.new_tensor((norm.variance_epsilon * x.size(-1)) ** 0.5)
    direction: Tensor = _Direction.apply(x, floor)
    return linear(direction, weight * (norm.weight * x.size(-1) ** 0.5), bias)


class _Direction(torch.autograd.Function):
    """x / sqrt(|x|^2 + floor^2) of each row: RMSNorm but for its weight and the root of the width."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, floor: Tensor) -> Tensor:
        length = torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True), floor)
        direction = x / length
        ctx.save_for_backward(direction, length)
        return direction

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        direction, length = ctx.saved_tensors
        along = torch.linalg.vecdot(grad, direction).unsqueeze(-1)
        return torch.addcmul(grad, direction, along, value=-1).div_(length), None
