"""The passes through the model that a training step needs: padded as TRL does them, or packed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from ict_core.training.fast.packed_forward import add_packed_forward, token_log_probs
from ict_core.training.fast.packing import Levers, Packed, pack

Batch = dict[str, Any]


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
        if not parts:  # no response token in the batch
            return next(self.policy().parameters()).new_zeros(
                0, self.models[0].config.get_text_config().hidden_size
            ), where
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
            whole = batch["completion_mask"].bool() & wanted.any(1, keepdim=True)
            read = wanted if self.levers.cut or not whole.any() else whole
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
