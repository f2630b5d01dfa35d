"""A forward pass over packed rows for a causal model of any family, compared with the model's own forward pass."""

import copy
import functools
import re
from typing import Any

import torch
from torch import Tensor
from torch.distributed.fsdp import FSDPModule
from torch.nn.functional import embedding
from transformers import AttentionInterface, AttentionMaskInterface, AutoModelForCausalLM
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask
from trl.kernels import ChunkedLogProbFunction

from ict_core.errors import UserError, one_line
from ict_core.models.head import lm_head
from ict_core.training.fast.on_cpu import LogProbs, ShortAttention, fits
from ict_core.training.fast.on_gpu import FirstCells, Gather
from ict_core.training.fast.packing import Packed, pack
from ict_core.training.passes import comparable

_ATTENTION = "packed"
_LAYERS = {"full_attention", "sliding_attention"}
_SMALL = {"num_hidden_layers": 2, "vocab_size": 64, "sliding_window": 3, "max_window_layers": 1}
_SMALL |= {"intermediate_size": 64, "moe_intermediate_size": 64}
# keys such as attention_dropout, attn_pdrop, hidden_dropout_prob; not those of heads that a causal model lacks
_DROPOUT = r"(?!classifier|summary).*drop(out(_prob)?)?$"
_SHORT = 256  # longest sequence, in tokens, whose attention probabilities are kept
_VOCABULARY_CHUNK = 32_768  # logits of a token that are in memory at a time, as in TRL


def _attention(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """transformers' ``sdpa``; where the states are packed, (1, heads, N, width), it attends over whole sequences."""
    packed: Packed | None = getattr(mask, "packed", None)
    if packed is None:
        return sdpa_attention_forward(module, query, key, value, mask, **options)
    flat = [part.squeeze(0).transpose(0, 1) for part in (query, key, value)]  # (N, heads, width)
    window = options.get("sliding_window") or torch.inf
    if packed.gathering is not None:
        return _gathered_attention(module, flat, packed, window, **options), None
    outputs, plain = [], fits(query) and query.size(1) == key.size(1)
    for index, start in packed.rows:  # each of one length
        length = index.size(1)
        # gathered by `embedding`, whose backward pass adds up the gradients of the rows that share a state
        q, k, v = (
            embedding(cells, part.flatten(1)).unflatten(-1, part.shape[1:]).transpose(1, 2)
            for cells, part in zip((index[:, start:], index, index), flat, strict=True)
        )
        # padding is on the right, which no causal query of a token sees
        if plain and length <= min(window, _SHORT):
            attended: Tensor = ShortAttention.apply(q, k, v, options["scaling"])
            outputs.append(attended.transpose(1, 2).flatten(0, 1))
            continue
        window_mask = _window(start, length, window, query.device)
        outputs.append(sdpa_attention_forward(module, q, k, v, window_mask, **options)[0].flatten(0, 1))
    return torch.cat(outputs)[packed.cells].unsqueeze(0), None


def _gathered_attention(
    module: torch.nn.Module, flat: list[Tensor], packed: Packed, window: float, **options: Any
) -> Tensor:
    """The same attention in few operations, from queries, keys and values, (N, heads, width)."""
    assert packed.gathering is not None
    widths, outputs = [part[0].numel() for part in flat], []
    gathered = Gather.apply(torch.cat([part.flatten(1) for part in flat], 1), packed.gathering)
    for cells, (index, _) in zip(gathered.split([index.numel() for index, _ in packed.rows]), packed.rows, strict=True):
        q, k, v = (
            states.unflatten(1, part.shape[1:]).unflatten(0, index.shape).transpose(1, 2)
            for states, part in zip(cells.split(widths, 1), flat, strict=True)
        )
        window_mask = _window(0, index.size(1), window, cells.device)
        outputs.append(sdpa_attention_forward(module, q, k, v, window_mask, **options)[0].flatten(0, 1))
    attended: Tensor = FirstCells.apply(torch.cat(outputs), packed.gathering)
    return attended.unsqueeze(0)


def _window(start: int, length: int, size: float, device: torch.device) -> Tensor | None:
    """A mask, (1, 1, L - start, L) bool: each token from ``start`` on sees itself and the ``size`` - 1 before it.

    None where every token sees all before it, which sdpa does without a mask.
    """
    if not start and length <= size:
        return None
    positions = torch.arange(length, device=device)
    distance = positions[start:, None] - positions
    return ((distance >= 0) & (distance < size))[None, None]


AttentionInterface.register(_ATTENTION, _attention)
AttentionMaskInterface.register(_ATTENTION, sdpa_mask)


def add_packed_forward(model: Any, temperature: float) -> None:
    """Give a causal model ``model(packed=...)``; without ``packed`` its forward pass is unchanged.

    ``model(packed=layout)`` returns the final hidden states, (N, D). ``model(packed=layout, state=..., token=...)``
    returns the log-probabilities of tokens (M,), predicted by states (M,), at the temperature; with ``entropy=True``
    also their entropies. Both are calls of the model's ``forward``, so that wrappers that gather sharded weights or
    reduce gradients see them. Here the log-probabilities of some tokens are compared once with those of the model's own
    forward pass.

    Raises:
        UserError: packed passes would give other results than the model's own forward pass.
    """
    config = model.config.get_text_config()
    reason = _unknown(config)
    if reason is None:
        teach(model, temperature)
        reason = _apart(model, temperature)
    if reason is not None:
        raise _refusal(config, reason)


def _refusal(config: Any, reason: str | Exception) -> UserError:
    text = " ".join(str(reason).split())
    return UserError(
        f"training.passes: packed is not allowed for this model ({config.model_type}: {text}); allowed: models whose "
        "layers see other tokens by sdpa alone. State passes: dense"
    )


def check_family(config: Any) -> None:
    """Refuse, before anything is trained, a configuration whose model :func:`add_packed_forward` would refuse.

    The test uses a model with random weights, two layers, a small vocabulary and short windows.
    """
    small = copy.deepcopy(config.get_text_config())
    small._attn_implementation = "sdpa"
    if reason := _unknown(small):
        raise _refusal(config, reason)
    try:
        for key, limit in _SMALL.items():
            if getattr(small, key, None) is not None:
                setattr(small, key, min(getattr(small, key), limit))
        if getattr(small, "layer_types", None) is not None:
            small.layer_types = (sorted(set(small.layer_types)) * 2)[:2]
        small.pad_token_id = None
        model = AutoModelForCausalLM.from_config(small, dtype=torch.float32)
    except Exception as error:  # a size that a family derives from others, attention without sdpa, and others
        raise _refusal(config, error) from None
    add_packed_forward(model, 1.0)


def _unknown(config: Any) -> str | None:
    """The reason why a model of that configuration cannot run packed; None where there is none."""
    if others := set(getattr(config, "layer_types", None) or []) - _LAYERS:
        return f"layers of {', '.join(sorted(others))}"
    if config._attn_implementation != "sdpa":
        return f"attention {config._attn_implementation}"
    if getattr(config, "attn_logit_softcapping", None) is not None:
        return "attn_logit_softcapping, which sdpa leaves out"
    if dropped := sorted(name for name, rate in config.to_dict().items() if rate and re.match(_DROPOUT, name)):
        return f"{', '.join(dropped)} above 0, which packed passes leave out"
    return None


def _apart(model: Any, temperature: float) -> str | None:
    """How packed log-probabilities of two short sequences differ from the model's own; None where they agree."""
    device = model.get_input_embeddings().weight.device
    if device.type == "meta":  # this rank's weights come later from the first rank, which does compare
        return None
    vocabulary = model.get_output_embeddings().weight.size(0)
    prompts = torch.tensor([[11, 12, 13], [11, 12, 13]], device=device) % vocabulary
    responses = torch.tensor([[14, 15, 16, 17], [14, 18, 19, 20]], device=device) % vocabulary
    mask, read = torch.ones_like(prompts), torch.ones_like(responses, dtype=torch.bool)
    try:
        with comparable(model) as allowed:
            logits = model(input_ids=torch.cat([prompts, responses], 1), use_cache=False).logits[:, 2:-1].float()
            expected = (logits / temperature).log_softmax(-1).gather(-1, responses[..., None]).flatten()
            layout = pack(prompts, mask, responses, read)
            packed = model(packed=layout, state=layout.where[read], token=responses[read])
    except (AttributeError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        return one_line(error)
    largest = (packed.float() - expected).abs().max().item()
    return None if largest <= allowed else f"log-probabilities differ by {largest:.2g} nats"


def teach(model: Any, temperature: float) -> None:
    """Give a model the forward pass of :func:`add_packed_forward`, without comparing its results."""
    model.set_attn_implementation(_ATTENTION)
    dense = model.forward

    @functools.wraps(dense)
    def forward(
        *args: Any,
        packed: Packed | None = None,
        state: Any = None,
        token: Any = None,
        entropy: bool = False,
        **kwargs: Any,
    ) -> Any:
        if packed is None:
            return dense(*args, **kwargs)
        embeddings = model.get_input_embeddings()
        if _tied(model):
            tied = embeddings.weight, embeddings.padding_idx, packed.head_gradient
            embedded = _TiedEmbedding.apply(packed.ids, *tied)
        else:
            embedded = embeddings(packed.ids)
        # every family hands a mask of four dimensions unchanged to its layers, so the mask can carry the layout
        mask: Any = packed.ids.new_zeros(1, 1, 0, 0)
        mask.packed = packed
        states = model.get_decoder()(
            inputs_embeds=embedded.unsqueeze(0),
            position_ids=packed.positions.unsqueeze(0),
            attention_mask=mask,
            use_cache=False,
        ).last_hidden_state.squeeze(0)
        return states if state is None else token_log_probs(model, packed, states[state], token, temperature, entropy)

    model.forward = forward


def token_log_probs(
    model: Any, packed: Packed, states: Tensor, tokens: Tensor, temperature: float, entropy: bool = False
) -> Tensor:
    """ln p of tokens (M,), each predicted by its state (M, D), with a gradient; the full logits are never in memory.

    With ``entropy`` also the Shannon entropy of each state, nats: (2, M).
    """
    weight, scale, softcap = lm_head(model)
    outputs = ("entropy",) if entropy else ()
    arguments = (states, weight, None, tokens, temperature, _VOCABULARY_CHUNK, softcap, scale, outputs)
    if _tied(model):
        results = _TiedHead.apply(*arguments, packed.head_gradient)
    else:
        results = _head(states, outputs).apply(*arguments)
    return torch.stack(results[:2]) if entropy else results[0]


def _head(states: Tensor, outputs: tuple[str, ...]) -> Any:
    """The autograd function for the head's log-probabilities of tokens and the optional ``outputs``."""
    return LogProbs if fits(states) and not outputs else ChunkedLogProbFunction


def _tied(model: Any) -> bool:
    """Whether the head shares a trained weight with embeddings that are plain look-ups of its rows.

    Not if the model is sharded: only a call of the embeddings gathers their weight.
    """
    if isinstance(model, FSDPModule):
        return False
    embeddings = model.get_input_embeddings()
    plain = type(embeddings).forward is torch.nn.Embedding.forward
    return plain and embeddings.weight is model.get_output_embeddings().weight and embeddings.weight.requires_grad


class _TiedHead(torch.autograd.Function):
    """The head; it leaves its weight's gradient to the embeddings, whose backward pass comes later.

    With two gradients of one parameter, autograd would hold two arrays of V x D before it adds them.
    """

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        ctx.left, ctx.head = arguments[-1], _head(arguments[0], arguments[-2])
        return ctx.head.forward(ctx, *arguments[:-1])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        states, weight, *rest = ctx.head.backward(ctx, *gradients)
        ctx.left.append(weight)
        return states, None, *rest, None


class _TiedEmbedding(torch.autograd.Function):
    """The embeddings of tokens; their gradient is added to the one that the head has left, if there is one."""

    @staticmethod
    def forward(ctx: Any, ids: Tensor, weight: Tensor, padding: int | None, left: list[Tensor]) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.padding, ctx.left, ctx.vocabulary = padding, left, len(weight)
        return embedding(ids, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, None, None]:
        (ids,), (gradient,) = ctx.saved_tensors, gradients
        if ctx.padding is not None:  # as in torch's embeddings
            gradient = gradient.masked_fill((ids == ctx.padding).unsqueeze(-1), 0.0)
        total = ctx.left.pop() if ctx.left else gradient.new_zeros(ctx.vocabulary, gradient.size(-1))
        return None, total.index_add_(0, ids, gradient), None, None
