"""Packed passes: the passes of a training step without padding, with every distinct prefix computed once."""

from typing import Any

import torch
from torch import Tensor

from ict_core.training.fast.packed_forward import add_packed_forward, teach, token_log_probs
from ict_core.training.fast.packing import Packed, pack
from ict_core.training.passes import Batch, DensePasses, plain


class PackedPasses(DensePasses):
    """The results of dense passes without padding, with every distinct prefix once and the head only at wanted tokens.

    The loss leaves out sequences without a kept token, and those of zero advantage if the loss has no other term. A
    sequence ends at its last kept token. If there is one rank and its step is one micro-batch of whole groups,
    statistics and loss share one pass through the layers. With several ranks, the wrapper that averages their gradients
    must see the loss's own pass.
    """

    in_order = True  # the rollouts of a group share their prompt

    def __init__(self, trainer: Any) -> None:
        super().__init__(trainer)
        self.at_once = self.rows_of_groups
        self._held: tuple[Tensor, Packed] | None = None  # states with their graph, and their layout
        add_packed_forward(plain(self.accelerator, trainer.model), trainer.temperature)
        if trainer.ref_model is not None:  # not compared: the same kind, and accelerate wraps its passes in autocast
            teach(plain(self.accelerator, trainer.ref_model), trainer.temperature)

    def states(self, batch: Batch, live: Tensor | None) -> tuple[Tensor, Tensor]:
        mask, model, args = batch["completion_mask"].bool(), self.trainer.model, self.trainer.args
        groups = torch.arange(len(mask), device=mask.device) // self.trainer.num_generations
        where = torch.full(mask.shape, -1, device=mask.device)
        parts: list[Tensor] = []
        one_batch = self.at_once == args.per_device_train_batch_size and args.gradient_accumulation_steps == 1
        if live is None or not one_batch or self.accelerator.num_processes > 1:
            live = torch.zeros_like(mask[:, 0])
        for with_graph, rows in ((True, live), (False, ~live)):
            read = mask & rows[:, None]
            if not read.any():
                continue
            layout = _layout(batch, read, groups)
            with torch.set_grad_enabled(with_graph), self.accelerator.autocast():
                states = model(packed=layout)
            if with_graph:
                self._held = states, layout
            where = torch.where(layout.where < 0, where, layout.where + sum(map(len, parts)))
            parts.append(states.detach())
        if not parts:  # no response token in the batch
            width = plain(self.accelerator, model).config.get_text_config().hidden_size
            parts = [next(model.parameters()).new_zeros(0, width)]
        return torch.cat(parts), where

    def wanted(self, trained: Tensor, mask: Tensor) -> Tensor:
        """The tokens that the gradient comes from, (B, T)."""
        return trained

    def log_probs(self, model: torch.nn.Module, batch: Batch, wanted: Tensor, *, entropy: bool = False) -> Tensor:
        """See :class:`ict_core.training.passes.DensePasses`; zero where not wanted."""
        if not wanted.any():
            wanted = wanted.clone()
            wanted[0, 0] = True  # has weight 0 in the loss; so every rank takes part, and every weight gets a gradient
        at = wanted.nonzero(as_tuple=True)
        tokens, temperature = batch["completion_ids"][at], self.trainer.temperature
        held, self._held = self._held, None
        with self.accelerator.autocast():
            if held is not None:
                states, layout = held
                unwrapped = self.accelerator.unwrap_model(model)
                logps = token_log_probs(unwrapped, layout, states[layout.where[at]], tokens, temperature, entropy)
            else:
                layout = _layout(batch, wanted, None)
                logps = model(packed=layout, state=layout.where[at], token=tokens, entropy=entropy)
        zeros = torch.zeros(wanted.shape, dtype=logps.dtype, device=logps.device)
        return torch.stack([zeros.index_put(at, part) for part in logps]) if entropy else zeros.index_put(at, logps)

    def sampled_log_probs(self, batch: Batch) -> Tensor:
        return batch["logprob"]


def _layout(batch: Batch, read: Tensor, groups: Tensor | None) -> Packed:
    return pack(batch["prompt_ids"], batch["prompt_mask"], batch["completion_ids"], read, groups=groups)
