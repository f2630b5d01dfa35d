"""Packed passes: those of a training step without padding, every distinct prefix once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from ict_core.training._passes import Batch
from ict_core.training.fast.packed_forward import add_packed_forward, token_log_probs
from ict_core.training.fast.packing import Levers, Packed, pack


@dataclass
class PackedPasses:
    """What dense passes give, without padding, every distinct prefix once, the head at the wanted tokens."""

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
        """See :class:`ict_core.training._passes.DensePasses`."""
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

    def log_probs(self, model: torch.nn.Module, batch: Batch, wanted: Tensor, *, entropy: bool = False) -> Tensor:
        """See :class:`ict_core.training._passes.DensePasses`; zero where not wanted."""
        if not wanted.any():
            wanted = wanted.clone()
            wanted[0, 0] = True  # of weight 0 in the loss: every rank takes part, and every weight gets a gradient
        at = wanted.nonzero(as_tuple=True)
        tokens = batch["completion_ids"][at]
        if self._held is not None:
            (states, layout), self._held = self._held, None
            with self.accelerator.autocast():
                plain = self.accelerator.unwrap_model(model)
                logps = token_log_probs(plain, layout, states[layout.where[at]], tokens, self.temperature, entropy)
        else:
            whole = batch["completion_mask"].bool() & wanted.any(1, keepdim=True)
            read = wanted if self.levers.cut or not whole.any() else whole
            layout = self._layout(batch, read, None)
            with self.accelerator.autocast():
                logps = model(packed=layout, state=layout.where[at], token=tokens, entropy=entropy)
        zeros = torch.zeros(wanted.shape, dtype=logps.dtype, device=logps.device)
        return torch.stack([zeros.index_put(at, own) for own in logps]) if entropy else zeros.index_put(at, logps)

    def _layout(self, batch: Batch, read: Tensor, groups: Tensor | None) -> Packed:
        prompt_ids, prompt_mask = batch["prompt_ids"], batch["prompt_mask"]
        return pack(prompt_ids, prompt_mask, batch["completion_ids"], read, groups=groups, share=self.levers.share)
