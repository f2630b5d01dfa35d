"""The passes through the model that a training step needs: padded as TRL does them, or packed."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.nn.functional import embedding
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask
from trl.kernels import ChunkedLogProbFunction

from ict_core.errors import UserError
from ict_core.training._packing import Levers, Packed, pack

Batch = dict[str, Any]
_ATTENTION = "packed"
_SCALES = ("final_logit_softcapping", "logit_scale", "logits_scaling", "output_multiplier", "lm_head_multiplier")
_VOCABULARY_CHUNK = 32_768  # logits of a token that are held at a time, as in TRL


@dataclass
class DensePasses:
    """Padded rows, and TRL's log-probabilities of every response token: what packed passes are tested against."""

    accelerator: Accelerator
    policy: Callable[[], torch.nn.Module]  # the trained model, in all its wrappers
    trl_log_probs: Callable[..., Any]  # TRL's `_get_per_token_logps_and_entropies`
    rows: int  # in one forward pass

    @torch.no_grad()
    def states(self, batch: Batch, mask: Tensor, group_size: int, live: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Final hidden states (N, D), detached, and (B, T) which of them predicts each response token or -1.

        The response tokens are ``mask``, (B, T); ``live``, (B,), are sequences whose graph packed passes keep for the
        next call of :meth:`log_probs`.
        """
        length = mask.size(1)
        input_ids, attention_mask = _with_prompts(batch)
        states: list[Tensor] = []
        backbone = self.accelerator.unwrap_model(self.policy()).get_decoder()
        # through the outermost module, which is the one that gathers sharded weights; its head sees one position
        hook = backbone.register_forward_hook(
            lambda *call: states.append(call[-1].last_hidden_state[:, -length - 1 : -1])
        )
        try:
            for ids, attention in zip(input_ids.split(self.rows), attention_mask.split(self.rows), strict=True):
                with self.accelerator.autocast():
                    self.policy()(input_ids=ids, attention_mask=attention, logits_to_keep=1, use_cache=False)
        finally:
            hook.remove()
        hidden = torch.cat(states).flatten(0, 1)
        return hidden, torch.arange(len(hidden), device=mask.device).view_as(mask).masked_fill(~mask, -1)

    def wanted(self, kept: Tensor, mask: Tensor, advantages: Tensor, *, kl: bool) -> Tensor:
        """(B, T), the response tokens whose log-probabilities a loss over ``kept``, (B, T), is given: all of them."""
        return mask

    def log_probs(self, model: torch.nn.Module, batch: Batch, wanted: Tensor) -> Tensor:
        """ln p of the sampled response tokens, (B, T), with a gradient where ``wanted`` (B, T), and more than there."""
        input_ids, attention_mask = _with_prompts(batch)
        logps: Tensor = self.trl_log_probs(model, input_ids, attention_mask, wanted.size(1))[0]
        return logps


@dataclass
class PackedPasses:
    """The same without padding, every distinct prefix once, the head at the wanted tokens."""

    accelerator: Accelerator
    policy: Callable[[], torch.nn.Module]  # the trained model, in all its wrappers
    models: list[Any]  # what is run, the policy and a reference model, without wrappers; they learn to read packed rows
    temperature: float
    levers: Levers  # which savings are on
    _held: tuple[Tensor, Packed] | None = None  # states with their graph, and their layout

    def __post_init__(self) -> None:
        for model in self.models:
            add_packed_forward(model, self.temperature)

    def states(self, batch: Batch, mask: Tensor, group_size: int, live: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """See :class:`DensePasses`."""
        groups = torch.arange(len(mask), device=mask.device) // group_size
        where = torch.full(mask.shape, -1, device=mask.device)
        parts: list[Tensor] = []
        live = torch.zeros_like(mask[:, 0]) if live is None else live
        for with_graph, rows in ((True, live), (False, ~live)):
            read = mask & rows[:, None]
            if not read.any():
                continue
            layout = self._layout(batch, read, groups)
            with torch.set_grad_enabled(with_graph), self.accelerator.autocast():
                states = self.policy()(packed=layout)
            if with_graph:
                self._held = states, layout
            where = torch.where(layout.where < 0, where, layout.where + sum(map(len, parts)))
            parts.append(states.detach())
        return torch.cat(parts), where

    def wanted(self, kept: Tensor, mask: Tensor, advantages: Tensor, *, kl: bool) -> Tensor:
        """Those that the gradient comes from, as far as the levers go."""
        rows = torch.ones_like(advantages, dtype=torch.bool)
        if self.levers.skip:
            rows = kept.any(1) if kl else kept.any(1) & (advantages != 0)
        return (kept if self.levers.sparse else mask) & rows[:, None]

    def log_probs(self, model: torch.nn.Module, batch: Batch, wanted: Tensor) -> Tensor:
        """See :class:`DensePasses`; zero where not wanted."""
        if not wanted.any():
            wanted = wanted.clone()
            wanted[0, 0] = True  # of weight 0 in the loss: every rank takes part, and every weight gets a gradient
        at = wanted.nonzero(as_tuple=True)
        tokens = batch["completion_ids"][at]
        if self._held is not None:
            (states, layout), self._held = self._held, None
            with self.accelerator.autocast():
                plain = self.accelerator.unwrap_model(model)
                logps = token_log_probs(plain, layout, states[layout.where[at]], tokens, self.temperature)
        else:
            read = wanted if self.levers.cut else batch["completion_mask"].bool() & wanted.any(1, keepdim=True)
            layout = self._layout(batch, read, None)
            with self.accelerator.autocast():
                logps = model(packed=layout, state=layout.where[at], token=tokens)
        return torch.zeros(wanted.shape, dtype=logps.dtype, device=logps.device).index_put(at, logps)

    def _layout(self, batch: Batch, read: Tensor, groups: Tensor | None) -> Packed:
        prompt_ids, prompt_mask = batch["prompt_ids"], batch["prompt_mask"]
        return pack(prompt_ids, prompt_mask, batch["completion_ids"], read, groups=groups, share=self.levers.share)


def _with_prompts(batch: Batch) -> tuple[Tensor, Tensor]:
    """Prompts with responses and their attention mask, (B, P + T) each."""
    input_ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    return input_ids, torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)


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


def add_packed_forward(model: Any, temperature: float) -> None:
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
        embeddings = model.get_input_embeddings()
        if _tied(model):
            tied = embeddings.weight, embeddings.padding_idx, packed.head_gradient
            embedded = _TiedEmbedding.apply(packed.ids, *tied)
        else:
            embedded = embeddings(packed.ids)
        states = model.get_decoder()(
            inputs_embeds=embedded.unsqueeze(0),
            position_ids=packed.positions.unsqueeze(0),
            attention_mask={"full_attention": None},  # made already: none
            use_cache=False,
            rows=packed.rows,
            cells=packed.cells,
        ).last_hidden_state.squeeze(0)
        return states if state is None else token_log_probs(model, packed, states[state], token, temperature)

    model.forward = forward


def token_log_probs(model: Any, packed: Packed, states: Tensor, tokens: Tensor, temperature: float) -> Tensor:
    """ln p of tokens (M,), each predicted by its state (M, D), with a gradient; the logits are never held."""
    arguments = (states, whole_head(model), None, tokens, temperature, _VOCABULARY_CHUNK, None, 1.0, ())
    if _tied(model):
        return _TiedHead.apply(*arguments, packed.head_gradient)[0]
    return ChunkedLogProbFunction.apply(*arguments)[0]


def whole_head(model: Any) -> Tensor:
    """The weight of the LM head, (V, D), gathered where it is sharded."""
    weight = model.get_output_embeddings().weight
    return weight.full_tensor() if isinstance(weight, DTensor) else weight


def _tied(model: Any) -> bool:
    weight = model.get_input_embeddings().weight
    return weight is model.get_output_embeddings().weight and weight.requires_grad


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
