"""A causal model's forward pass over packed rows, of whatever family it is, held against its own."""

import copy
import functools
from typing import Any

import torch
from torch import Tensor
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

_ATTENTION = "packed"
_LAYERS = {"full_attention", "sliding_attention"}
_SMALL = {"num_hidden_layers": 2, "vocab_size": 64, "sliding_window": 3, "max_window_layers": 1}
_SMALL |= {"intermediate_size": 64, "moe_intermediate_size": 64}
_ROUNDING = 3.0  # times the root of a type's precision: what two orders of operations may differ by, nats
_SHORT = 256  # tokens of a sequence whose probabilities of attention are kept
_VOCABULARY_CHUNK = 32_768  # logits of a token that are held at a time, as in TRL


def _attention(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """transformers' ``sdpa``; over the whole sequences where the states that come are packed, (1, heads, N, width)."""
    packed: Packed | None = getattr(mask, "packed", None)
    if packed is None:
        return sdpa_attention_forward(module, query, key, value, mask, **options)
    flat = [part.squeeze(0).transpose(0, 1) for part in (query, key, value)]  # (N, heads, width)
    window = options.get("sliding_window") or torch.inf
    if packed.gathering is not None:
        return _gathered_attention(module, flat, packed, window, **options), None
    seen, plain = [], fits(query) and query.size(1) == key.size(1)
    for index, start in packed.rows:  # of one length each
        length = index.size(1)
        # gathered as embeddings, whose backward pass adds up what the rows that share a state send back to it
        q, k, v = (
            embedding(own, part.flatten(1)).unflatten(-1, part.shape[1:]).transpose(1, 2)
            for own, part in zip((index[:, start:], index, index), flat, strict=True)
        )
        # padding stands on the right, where no causal query of a token looks
        if plain and length <= min(window, _SHORT):
            attended: Tensor = ShortAttention.apply(q, k, v, options["scaling"])
            seen.append(attended.transpose(1, 2).flatten(0, 1))
            continue
        near = _window(start, length, window, query.device) if window < length or start else None
        seen.append(sdpa_attention_forward(module, q, k, v, near, **options)[0].flatten(0, 1))
    return torch.cat(seen)[packed.cells].unsqueeze(0), None


def _gathered_attention(
    module: torch.nn.Module, flat: list[Tensor], packed: Packed, window: float, **options: Any
) -> Tensor:
    """The same in few operations, from queries, keys and values, (N, heads, width)."""
    assert packed.gathering is not None
    widths, seen = [part[0].numel() for part in flat], []
    whole = Gather.apply(torch.cat([part.flatten(1) for part in flat], 1), packed.gathering)
    for cells, (index, _) in zip(whole.split([index.numel() for index, _ in packed.rows]), packed.rows, strict=True):
        q, k, v = (
            of_cells.unflatten(1, part.shape[1:]).unflatten(0, index.shape).transpose(1, 2)
            for of_cells, part in zip(cells.split(widths, 1), flat, strict=True)
        )
        near = _window(0, index.size(1), window, cells.device) if window < index.size(1) else None
        seen.append(sdpa_attention_forward(module, q, k, v, near, **options)[0].flatten(0, 1))
    attended: Tensor = FirstCells.apply(torch.cat(seen), packed.gathering)
    return attended.unsqueeze(0)


def _window(start: int, length: int, size: float, device: torch.device) -> Tensor:
    """(1, 1, L - start, L) bool: each token from ``start`` on sees itself and the ``size`` - 1 before it."""
    positions = torch.arange(length, device=device)
    back = positions[start:, None] - positions
    return ((back >= 0) & (back < size))[None, None]


AttentionInterface.register(_ATTENTION, _attention)
AttentionMaskInterface.register(_ATTENTION, sdpa_mask)


def add_packed_forward(model: Any, temperature: float) -> None:
    """Teach a causal model ``model(packed=...)``; without ``packed`` its forward pass is what it was.

    ``model(packed=layout)`` returns the final hidden states, (N, D); ``model(packed=layout, state=..., token=...)`` the
    log-probabilities of tokens (M,) predicted by states (M,), at the temperature, and with ``entropy=True`` their
    entropies. Both go through the model's own
    ``forward``, so that wrappers which gather sharded weights or reduce gradients see them. What the two give for
    some tokens is compared once, here.

    Raises:
        UserError: packed passes would not give what the model's own forward pass gives.
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
    """Refuse, before anything is trained, a model of that configuration which :func:`add_packed_forward` would refuse.

    A model of random weights like it is tried, of two layers, a small vocabulary and short windows.
    """
    tried = copy.deepcopy(config.get_text_config())
    tried._attn_implementation = "sdpa"
    if reason := _unknown(tried):
        raise _refusal(config, reason)
    try:
        for key, most in _SMALL.items():
            if getattr(tried, key, None) is not None:
                setattr(tried, key, min(getattr(tried, key), most))
        if getattr(tried, "layer_types", None) is not None:
            tried.layer_types = (sorted(set(tried.layer_types)) * 2)[:2]
        tried.pad_token_id = None
        model = AutoModelForCausalLM.from_config(tried, dtype=torch.float32)
    except (AttributeError, ValueError) as error:  # sizes that a family makes of others, and attention that has no sdpa
        raise _refusal(config, error) from None
    add_packed_forward(model, 1.0)


def _unknown(config: Any) -> str | None:
    """Why a model of that configuration cannot run packed, None where nothing speaks against it."""
    if others := set(getattr(config, "layer_types", None) or []) - _LAYERS:
        return f"layers of {', '.join(sorted(others))}"
    if config._attn_implementation != "sdpa":
        return f"attention {config._attn_implementation}"
    if getattr(config, "attn_logit_softcapping", None) is not None:
        return "attn_logit_softcapping, which sdpa leaves out"
    return None


@torch.no_grad()
def _apart(model: Any, temperature: float) -> str | None:
    """How packed log-probabilities of two short sequences differ from the model's own; None where they agree."""
    device, training = model.get_input_embeddings().weight.device, model.training
    if device.type == "meta":  # a rank whose weights are still to come from the first, which does look
        return None
    vocabulary = model.get_output_embeddings().weight.size(0)
    prompts = torch.tensor([[11, 12, 13], [11, 12, 13]], device=device) % vocabulary
    responses = torch.tensor([[14, 15, 16, 17], [14, 18, 19, 20]], device=device) % vocabulary
    mask, read = torch.ones_like(prompts), torch.ones_like(responses, dtype=torch.bool)
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")  # without TF32, which would hide what is told apart here
    model.eval()
    try:
        logits = model(input_ids=torch.cat([prompts, responses], 1), use_cache=False).logits[:, 2:-1].float()
        own = (logits / temperature).log_softmax(-1).gather(-1, responses[..., None]).flatten()
        layout = pack(prompts, mask, responses, read)
        packed = model(packed=layout, state=layout.where[read], token=responses[read])
    except (AttributeError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        return one_line(error)
    finally:
        model.train(training)
        torch.set_float32_matmul_precision(precision)
    furthest = (packed.float() - own).abs().max().item()
    allowed = _ROUNDING * torch.finfo(model.dtype).eps ** 0.5
    return None if furthest <= allowed else f"log-probabilities differ by {furthest:.2g} nats"


def teach(model: Any, temperature: float) -> None:
    """Give a model the forward pass of :func:`add_packed_forward`, without a look at what it gives."""
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
        # a mask of four dimensions goes through every family's layers as it is, and so takes the layout along
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
    """ln p of tokens (M,), each predicted by its state (M, D), with a gradient; the logits are never held.

    With ``entropy`` Shannon's of each state, nats, too: (2, M).
    """
    weight, scale, softcap = lm_head(model)
    outputs = ("entropy",) if entropy else ()
    arguments = (states, weight, None, tokens, temperature, _VOCABULARY_CHUNK, softcap, scale, outputs)
    if _tied(model):
        found = _TiedHead.apply(*arguments, packed.head_gradient)
    else:
        found = _head(states, outputs).apply(*arguments)
    return torch.stack(found[:2]) if entropy else found[0]


def _head(states: Tensor, outputs: tuple[str, ...]) -> Any:
    """The function that gives log-probabilities of tokens by the head, and what else is asked for."""
    return LogProbs if fits(states) and not outputs else ChunkedLogProbFunction


def _tied(model: Any) -> bool:
    """Whether the head's weight is that of embeddings which are nothing but its rows, and is trained."""
    embeddings = model.get_input_embeddings()
    plain = type(embeddings).forward is torch.nn.Embedding.forward
    return plain and embeddings.weight is model.get_output_embeddings().weight and embeddings.weight.requires_grad


class _TiedHead(torch.autograd.Function):
    """The head, which leaves the gradient of its weights to the embeddings, whose backward pass comes after its own.

    As two gradients of one parameter, autograd would hold two arrays of V x D before it adds them.
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
    """The embeddings of tokens; their gradient is added to what the head has left, if that is its own."""

    @staticmethod
    def forward(ctx: Any, ids: Tensor, weight: Tensor, padding: int | None, left: list[Tensor]) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.padding, ctx.left, ctx.vocabulary = padding, left, len(weight)
        return embedding(ids, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, None, None]:
        (ids,), (gradient,) = ctx.saved_tensors, gradients
        if ctx.padding is not None:  # as torch's embeddings have it
            gradient = gradient.masked_fill((ids == ctx.padding).unsqueeze(-1), 0.0)
        whole = ctx.left.pop() if ctx.left else gradient.new_zeros(ctx.vocabulary, gradient.size(-1))
        return None, whole.index_add_(0, ids, gradient), None, None
