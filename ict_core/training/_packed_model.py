"""A decoder that reads packed rollouts, and log-probabilities of chosen tokens from its states."""

import functools
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.nn.functional import embedding
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask
from trl.kernels import ChunkedLogProbFunction

from ict_core.errors import UserError
from ict_core.training._packing import Packed

_ATTENTION = "packed"
_SCALES = ("final_logit_softcapping", "logit_scale", "logits_scaling", "output_multiplier", "lm_head_multiplier")
_VOCABULARY_CHUNK = 32_768  # logits of a token that are held at a time, as in TRL


def _attention(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """transformers' ``sdpa``; over the whole sequences where the states that come are packed, (1, heads, N, width)."""
    rows, cells = options.pop("rows", None), options.pop("cells", None)
    if rows is None:
        return sdpa_attention_forward(module, query, key, value, mask, **options)
    flat = [part.squeeze(0).transpose(0, 1) for part in (query, key, value)]  # (N, heads, width)
    seen = []
    for index in rows:  # of one length each
        # gathered as embeddings, whose backward pass adds up what the rows that share a state send back to it
        q, k, v = (embedding(index, part.flatten(1)).unflatten(-1, part.shape[1:]).transpose(1, 2) for part in flat)
        # padding stands on the right, where no causal query of a token looks
        seen.append(sdpa_attention_forward(module, q, k, v, None, **options)[0].flatten(0, 1))
    return torch.cat(seen)[cells].unsqueeze(0), None


AttentionInterface.register(_ATTENTION, _attention)
AttentionMaskInterface.register(_ATTENTION, sdpa_mask)


def add_packed_forward(model: PreTrainedModel, temperature: float) -> None:
    """Teach a causal model ``model(packed=...)``; without ``packed`` its forward pass is what it was.

    ``model(packed=layout)`` returns the final hidden states, (N, D); ``model(packed=layout, state=..., token=...)`` the
    log-probabilities of tokens (M,) predicted by states (M,), at the temperature. Both go through the model's own
    ``forward``, so that wrappers which gather sharded weights or reduce gradients see them.

    Raises:
        UserError: the model does not attend to its whole past in every layer, or has no plain head.
    """
    config = model.config.get_text_config()
    others = set(getattr(config, "layer_types", None) or ["full_attention"]) - {"full_attention"}
    scaled = [key for key in _SCALES if getattr(config, key, None) is not None]
    scaled += ["a bias"] if model.get_output_embeddings().bias is not None else []
    if others or scaled or config._attn_implementation != "sdpa":
        reasons = ", ".join([*sorted(others), *scaled]) or f"attention {config._attn_implementation}"
        raise UserError(
            f"training.passes: packed is not allowed for this model ({config.model_type} with {reasons}); "
            "allowed: models of full attention by sdpa with a plain head. State passes: dense"
        )
    model.set_attn_implementation(_ATTENTION)
    dense = model.forward

    @functools.wraps(dense)
    def forward(*args: Any, packed: Packed | None = None, state: Any = None, token: Any = None, **kwargs: Any) -> Any:
        if packed is None:
            return dense(*args, **kwargs)
        states = model.get_decoder()(
            inputs_embeds=_embedded(model, packed).unsqueeze(0),
            position_ids=packed.positions.unsqueeze(0),
            attention_mask={"full_attention": None},  # made already: none
            use_cache=False,
            rows=packed.rows,
            cells=packed.cells,
        ).last_hidden_state.squeeze(0)
        return states if state is None else token_log_probs(model, packed, states[state], token, temperature)

    model.forward = forward


def token_log_probs(
    model: PreTrainedModel, packed: Packed, states: Tensor, tokens: Tensor, temperature: float
) -> Tensor:
    """ln p of tokens (M,), each predicted by its state (M, D), with a gradient; the logits are never held."""
    arguments = (states, whole_head(model), None, tokens, temperature, _VOCABULARY_CHUNK, None, 1.0, ())
    if _tied(model):
        return _TiedHead.apply(*arguments, packed.head_gradient)[0]
    return ChunkedLogProbFunction.apply(*arguments)[0]


def whole_head(model: Any) -> Tensor:
    """The weight of the LM head, (V, D), gathered where it is sharded."""
    weight = model.get_output_embeddings().weight
    return weight.full_tensor() if isinstance(weight, DTensor) else weight


def _tied(model: PreTrainedModel) -> bool:
    embeddings: Any = model.get_input_embeddings()
    return embeddings.weight is model.get_output_embeddings().weight and embeddings.weight.requires_grad


def _embedded(model: PreTrainedModel, packed: Packed) -> Tensor:
    """(N,) -> (N, D)."""
    embeddings: Any = model.get_input_embeddings()
    if not _tied(model):
        return embeddings(packed.ids)
    return _TiedEmbedding.apply(packed.ids, embeddings.weight, embeddings.padding_idx, packed.head_gradient)


class _TiedHead(ChunkedLogProbFunction):
    """TRL's head, which leaves the gradient of its weights to the embeddings, whose backward pass comes after its own.

    As two gradients of one parameter, autograd would hold two arrays of V x D before it adds them.
    """

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        ctx.left = arguments[-1]
        return ChunkedLogProbFunction.forward(ctx, *arguments[:-1])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        states, weight, *rest = ChunkedLogProbFunction.backward(ctx, *gradients)
        ctx.left.append(weight)
        return states, None, *rest, None


class _TiedEmbedding(torch.autograd.Function):
    """The embeddings of tokens; their gradient is added to what the head has left."""

    @staticmethod
    def forward(ctx: Any, ids: Tensor, weight: Tensor, padding: int | None, left: list[Tensor]) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.padding, ctx.left = padding, left
        return embedding(ids, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, None, None]:
        (ids,), (gradient,) = ctx.saved_tensors, gradients
        if ctx.padding is not None:  # as torch's embeddings have it
            gradient = gradient.masked_fill((ids == ctx.padding).unsqueeze(-1), 0.0)
        return None, ctx.left.pop().index_add_(0, ids, gradient), None, None
