"""Rollouts without vLLM: a decoding loop for transformers' ``generate`` with as little work per token as possible.

A decoding step of a small model is almost only overhead per operation. So equal prompts are read once, and a layer has
a third of the operations of its modules. A token is drawn with one uniform number (``torch.multinomial`` draws one for
every entry of the vocabulary). Rollouts that have ended leave the batch. The order of the operations decides the last
bit of a probability, and so in rare cases a token.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.nn.functional import silu
from transformers import (
    GenerationConfig,
    LlamaForCausalLM,
    LogitsProcessorList,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2ForCausalLM,
    TemperatureLogitsWarper,
)

_KNOWN: tuple[type, ...] = (LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM)  # no subclasses
_POSITIONS = ("default", "linear", "llama3")  # rotary types that do not depend on the length
_BLOCK = 4  # tokens between two checks for ended rollouts
_WORTH_IT = 0.9  # ended rollouts leave once at most this share of the batch goes on


def sample_lean(model: Any) -> None:
    """Make ``model.generate`` decode by :func:`decode`, if the model is supported.

    Supported are Llama, Mistral and Qwen2 in float32 with full attention, SiLU, biases only for queries, keys and
    values, and rotary positions that do not depend on the length. Adapters, other dtypes and other architectures keep
    transformers' own loop, and so does every call that finds the weights sharded over ranks.
    """
    if type(model) not in _KNOWN or model.dtype != torch.float32:
        return
    config, generate = model.config, model.generate
    windows = set(getattr(config, "layer_types", None) or []) - {"full_attention"}
    windows |= {config.sliding_window} - {None} if isinstance(model, MistralForCausalLM) else set()
    layer = model.model.layers[0]
    linears = (layer.self_attn.o_proj, layer.mlp.gate_proj, layer.mlp.up_proj, layer.mlp.down_proj)
    biased = any(linear.bias is not None for linear in linears)
    fixed = (config.rope_parameters or {}).get("rope_type") in _POSITIONS

    def lean_generate(**inputs: Any) -> Any:
        sharded = any(isinstance(weight, DTensor) for weight in model.parameters())
        return generate(**inputs, custom_generate=None if sharded else decode)

    if fixed and not windows and not biased and config.hidden_act == "silu":
        model.generate = lean_generate


@torch.inference_mode()
def decode(
    model: PreTrainedModel,
    input_ids: Tensor,
    logits_processor: LogitsProcessorList,
    stopping_criteria: object,
    generation_config: GenerationConfig,
    **inputs: Any,
) -> Tensor:
    """Sample each row until a stop token or the maximum length; a ``custom_generate`` of transformers.

    All randomness is one draw from the global generator, a uniform number for each row and position. So equal generator
    states give equal tokens, and apart from rounding no rollout depends on another. ``input_ids`` and the input
    ``attention_mask``, 1 at the prompt, are (B, P), padded on the left. Returns prompts and responses, (B, P + T),
    padded after their stop tokens; T is the length of the longest response.

    Raises:
        ValueError: anything but sampling from the whole distribution is asked for.
    """
    if not generation_config.do_sample or any(type(p) is not TemperatureLogitsWarper for p in logits_processor):
        raise ValueError("only sampling from the whole distribution: no greedy search, no top-p, top-k or penalty")
    rows, max_new_tokens = len(input_ids), int(generation_config.max_length) - input_ids.size(1)
    stops = torch.tensor(generation_config.eos_token_id, device=input_ids.device)
    pad = int(generation_config.pad_token_id)
    uniform = torch.rand(rows, max_new_tokens, dtype=torch.float64, device=input_ids.device)
    responses = torch.full((rows, max_new_tokens), pad, device=input_ids.device)
    unfinished = torch.arange(rows, device=input_ids.device)
    decoder = _Decoder(model, float(generation_config.temperature), max_new_tokens)
    probs = decoder.read(input_ids, inputs["attention_mask"])
    for start in range(0, max_new_tokens, _BLOCK):
        block = []
        for position in range(start, min(start + _BLOCK, max_new_tokens)):
            block.append(draw(probs, uniform[:, position, None]))
            if position + 1 < max_new_tokens:
                probs = decoder.step(block[-1])
        responses[unfinished, start : start + _BLOCK] = torch.stack(block, 1)
        live = (~torch.isin(responses[unfinished, : start + _BLOCK], stops).any(-1)).nonzero().squeeze(1)
        if not len(live):
            break
        if len(live) <= _WORTH_IT * len(unfinished):
            unfinished, probs, uniform = unfinished[live], probs[live], uniform[live]
            decoder.keep(live)
    stopped = torch.isin(responses, stops).int()
    after = stopped.cumsum(-1) > stopped
    responses.masked_fill_(after, pad)
    return torch.cat([input_ids, responses[:, : int((~after).sum(-1).max())]], 1)


def draw(probs: Tensor, uniform: Tensor) -> Tensor:
    """A token per row of ``probs``, (B, V): the first whose cumulated share exceeds ``uniform``, (B, 1), in [0, 1)."""
    # float64: in float32 the tail of a large vocabulary would be lost in the rounding of the sum
    cumulated = probs.cumsum(-1, dtype=torch.float64)
    return torch.searchsorted(cumulated, cumulated[:, -1:] * uniform, right=True).squeeze(1)


class _Decoder:
    """The model for one token per row, on joined weights, with memory for the keys and values of all coming tokens.

    Positions count from the first column, padding included: rotary attention depends only on their distances.
    """

    def __init__(self, model: Any, temperature: float, most: int) -> None:
        config = model.config
        self._read: Callable[..., Any] = model
        self._rotary: Callable[..., tuple[Tensor, Tensor]] = model.model.rotary_emb
        self._temperature = temperature
        self._most = most
        layers: Any = model.model.layers
        self._heads, self._kv_heads = int(config.num_attention_heads), int(config.num_key_value_heads or 0)
        self._head_dim = int(layers[0].self_attn.head_dim)
        self._layers = [_joined_weights(layer, self._head_dim) for layer in layers]
        self._embeddings: Tensor = model.model.embed_tokens.weight
        self._head = _normed(model.lm_head.weight / temperature, model.model.norm)
        self._floor = self._embeddings.new_tensor((config.hidden_size * config.rms_norm_eps) ** 0.5)

    def read(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Read the prompts, (B, P) each, equal ones once; returns the distributions of the first tokens, (B, V)."""
        rows, length = input_ids.shape
        distinct, numbers = torch.stack([input_ids, attention_mask]).unique(dim=1, return_inverse=True)
        positions = torch.arange(length + self._most, device=input_ids.device)[None]
        ids, mask = distinct
        options = {"position_ids": positions[:, :length], "use_cache": True, "logits_to_keep": 1}
        outputs = self._read(input_ids=ids, attention_mask=mask, **options)
        self._prompts = [
            (layer.keys.flatten(0, 1), layer.values.flatten(0, 1)) for layer in outputs.past_key_values.layers
        ]
        dims = rows, self._kv_heads, self._most, self._head_dim
        self._past = [(self._embeddings.new_empty(dims), self._embeddings.new_empty(dims)) for _ in self._layers]
        self._mask = self._embeddings.new_zeros(mask.shape).masked_fill_(mask == 0, -torch.inf)[numbers].unsqueeze(1)
        order, counts = numbers.argsort(stable=True), numbers.bincount()
        self._shape = len(ids), int(counts.max())
        self._places = torch.empty_like(numbers)  # each row's place among the rows of its prompt
        self._places[order] = torch.arange(rows, device=order.device) - (counts.cumsum(0) - counts)[numbers[order]]
        self._places += numbers * self._shape[1]
        cos, sin = self._rotary(self._embeddings, positions[:, length:])
        self._cos, self._sin = cos[0], sin[0]
        self._end = 0
        return (outputs.logits[:, -1] / self._temperature).softmax(-1)[numbers]

    def keep(self, rows: Tensor) -> None:
        """Keep only these rows."""
        self._mask, self._places = self._mask[rows], self._places[rows]
        self._past = [(keys[rows], values[rows]) for keys, values in self._past]

    def step(self, tokens: Tensor) -> Tensor:
        """Append a token to each row, (B,); returns the distributions of the next tokens, (B, V)."""
        position, self._end = self._end, self._end + 1
        end, heads, rotary_heads = self._end, self._heads, self._heads + self._kv_heads
        cos, sin = self._cos[position], self._sin[position]
        x = self._embeddings[tokens]
        for (qkv_weight, bias, output, gate_up, down), prompt, (keys, values) in zip(
            self._layers, self._prompts, self._past, strict=True
        ):
            # one product for queries, keys, values and the rotated ones: a token's cost is its number of operations
            qkv = torch.addmm(bias, self._direction(x), qkv_weight).view(len(x), -1, self._head_dim)
            qk = (qkv[:, :rotary_heads] * cos).addcmul_(qkv[:, rotary_heads : 2 * rotary_heads], sin)
            keys[:, :, position], values[:, :, position] = qk[:, heads:], qkv[:, 2 * rotary_heads :]
            attended = self._attend(qk[:, :heads], prompt, keys[:, :, :end], values[:, :, :end])
            x = x.addmm(attended.view(len(x), -1), output)
            gate, up = (self._direction(x) @ gate_up).chunk(2, -1)
            x = x.addmm(silu(gate).mul_(up), down)
        return (self._direction(x) @ self._head).softmax(-1)

    def _attend(self, queries: Tensor, prompt: tuple[Tensor, Tensor], keys: Tensor, values: Tensor) -> Tensor:
        """The attention of queries, (B, heads, width), to their prompts, each in memory once, and their responses."""
        rows, length = len(queries), prompt[0].size(1)
        grouped = queries.reshape(rows * self._kv_heads, -1, self._head_dim)
        keys, values = keys.flatten(0, 1), values.flatten(0, 1)
        prompt_scores = self._gathered(torch.bmm(self._by_prompt(queries), prompt[0].mT), length) + self._mask
        scores = torch.cat([prompt_scores, torch.bmm(grouped, keys.mT).view(rows, self._heads, -1)], -1)
        probabilities = scores.softmax(-1)
        attended = self._gathered(torch.bmm(self._by_prompt(probabilities[..., :length]), prompt[1]), self._head_dim)
        response_part = torch.bmm(probabilities[..., length:].reshape(len(grouped), grouped.size(1), -1), values)
        return attended.add_(response_part.view_as(attended))

    def _by_prompt(self, x: Tensor) -> Tensor:
        """(B, heads, n) -> (prompts * key heads, rows of a prompt * heads of a key head, n), 0 where no row is left."""
        prompts, rows = self._shape
        places = x.new_zeros(prompts * rows, *x.shape[1:]).index_copy_(0, self._places, x)
        return places.view(prompts, rows, self._kv_heads, -1, x.size(-1)).transpose(1, 2).flatten(2, 3).flatten(0, 1)

    def _gathered(self, x: Tensor, width: int) -> Tensor:
        """The inverse of :meth:`_by_prompt`."""
        prompts, rows = self._shape
        x = x.view(prompts, self._kv_heads, rows, -1, width).transpose(1, 2)
        return x.reshape(prompts * rows, self._heads, width)[self._places]

    def _direction(self, x: Tensor) -> Tensor:
        """RMSNorm in three operations; its other factors are in the weights that follow (:func:`_normed`)."""
        return x / torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True), self._floor)


def _joined_weights(layer: Any, head_dim: int) -> tuple[Tensor, ...]:
    """A layer's weights for ``x @ weight``: queries, keys, both rotated, values (D, N), and their biases (N,); output;
    gate and up; down. Rotated weights give the results as the rotary embedding's ``rotate_half`` changes them."""
    attention, mlp = layer.self_attn, layer.mlp

    def joined(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        unrotated = torch.cat([queries * head_dim**-0.5, keys])  # attention's scale factor
        first, second = unrotated.unflatten(0, (-1, 2, head_dim // 2)).unbind(1)
        return torch.cat([unrotated, torch.stack([-second, first], 1).flatten(0, 2), values])

    qkv_weight = joined(attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight)
    linears = (attention.q_proj, attention.k_proj, attention.v_proj)
    bias = joined(*(x.weight.new_zeros(len(x.weight)) if x.bias is None else x.bias for x in linears))
    gate_up = _normed(torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]), layer.post_attention_layernorm)
    return _normed(qkv_weight, layer.input_layernorm), bias, attention.o_proj.weight.T, gate_up, mlp.down_proj.weight.T


def _normed(weight: Tensor, norm: Any) -> Tensor:
    """(N, D) -> (D, N), multiplied by RMSNorm's factors of a direction: its weight and the root of D."""
    return (weight * norm.weight * weight.size(1) ** 0.5).T.contiguous()
