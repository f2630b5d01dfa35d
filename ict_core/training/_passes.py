"""The passes through the model that a training step needs, padded as TRL does them; packed ones are in `fast`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

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

    def log_probs(self, model: torch.nn.Module, batch: Batch, wanted: Tensor, *, entropy: bool = False) -> Tensor:
        """ln p of the sampled response tokens, (B, T), with a gradient where ``wanted`` (B, T), and more than there.

        With ``entropy`` the Shannon entropies, nats, too: (2, B, T).
        """
        input_ids, attention_mask = _with_prompts(batch)
        found = self.trl_log_probs(model, input_ids, attention_mask, wanted.size(1), compute_entropy=entropy)
        logps: Tensor = torch.stack(found[:2]) if entropy else found[0]
        return logps


def _with_prompts(batch: Batch) -> tuple[Tensor, Tensor]:
    """Prompts with responses and their attention mask, (B, P + T) each."""
    input_ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    return input_ids, torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
