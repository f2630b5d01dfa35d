"""The passes through the model that a training step needs, padded as in TRL; cheaper ones are in `fast`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ict_core.errors import UserError
from ict_core.models.head import lm_head
from ict_core.tokens.streaming import TokenStatistics, token_statistics
from ict_core.training.objective import highest_covariance
from ict_core.training.ranks import own_rows, rounds, whole_batch

Batch = dict[str, Any]
_ROLLOUT = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")
_ROUNDING = 3.0  # times the root of a dtype's precision: how much two orders of operations may differ, nats


class DensePasses:
    """Passes over padded rows, with TRL's log-probabilities of every response token; the reference for packed ones.

    ``at_once`` is the number of rows in a pass without a gradient. ``in_order`` says whether micro-batches come in the
    order of the groups, or as TRL has shuffled them.
    """

    in_order = False

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.accelerator = trainer.accelerator
        self.at_once = trainer.args.per_device_train_batch_size
        self.rows_of_groups = rows_of_groups(trainer.num_generations, self.at_once)  # of whole groups

    def statistics(self, batch: Batch, scores: tuple[str, ...], live: Tensor | None = None) -> TokenStatistics:
        """Statistics of whole groups under the current policy; before the update that is the policy that sampled.

        Each rank computes those of some groups, as many at a time as a micro-batch holds, and gets all results.
        ``live``, (B,), marks the sequences that the next call of :meth:`log_probs` is for.
        """
        head = lm_head(plain(self.accelerator, self.trainer.model))
        head = head._replace(weight=head.weight.detach())
        options = {"group_size": self.trainer.num_generations, "temperature": self.trainer.temperature}
        shape = batch["completion_mask"].shape
        pieces = torch.arange(shape[0]).split(self.rows_of_groups)
        values = torch.empty(0)
        for index, counts in rounds(self.accelerator, len(pieces)):
            rows = pieces[index]
            part = {name: batch[name][rows] for name in _ROLLOUT}
            states, where = self.states(part, None if live is None else live[rows])
            with self.accelerator.autocast():
                tokens = token_statistics(states, head, where, part["completion_ids"], scores=scores, **options)
            if not len(values):
                values = tokens.values.new_zeros(len(tokens.names), *shape)
            if counts:
                values[:, rows] = tokens.values
        return replace(tokens, values=self.accelerator.reduce(values, "sum"))

    @torch.no_grad()
    def states(self, batch: Batch, live: Tensor | None) -> tuple[Tensor, Tensor]:
        """Final hidden states, (N, D), detached, and the index of each response token's state, (B, T), or -1."""
        mask = batch["completion_mask"].bool()
        length = mask.size(1)
        states: list[Tensor] = []
        backbone = self.accelerator.unwrap_model(self.trainer.model).get_decoder()
        # calls the outermost module, which gathers sharded weights; its head computes only one position
        hook = backbone.register_forward_hook(
            lambda *call: states.append(call[-1].last_hidden_state[:, -length - 1 : -1])
        )
        try:
            for ids, attention in zip(*(part.split(self.at_once) for part in with_prompts(batch)), strict=True):
                with self.accelerator.autocast():
                    self.trainer.model(input_ids=ids, attention_mask=attention, logits_to_keep=1, use_cache=False)
        finally:
            hook.remove()
        hidden = torch.cat(states).flatten(0, 1)
        return hidden, torch.arange(len(hidden), device=mask.device).view_as(mask).masked_fill(~mask, -1)

    def wanted(self, trained: Tensor, mask: Tensor) -> Tensor:
        """The response tokens, (B, T), whose log-probabilities the loss receives: all, not only the ``trained`` ones.

        ``trained``, (B, T), marks the tokens that the gradient comes from.
        """
        return mask

    def log_probs(self, model: torch.nn.Module, batch: Batch, wanted: Tensor, *, entropy: bool = False) -> Tensor:
        """ln p of the sampled response tokens, (B, T), with a gradient at least where ``wanted``, (B, T), is true.

        With ``entropy`` also the Shannon entropies, nats: (2, B, T).
        """
        trl = self.trainer._get_per_token_logps_and_entropies
        outputs = trl(model, *with_prompts(batch), wanted.size(1), compute_entropy=entropy)
        return torch.stack(outputs[:2]) if entropy else outputs[0]

    @torch.no_grad()
    def all_log_probs(self, model: torch.nn.Module, batch: Batch) -> Tensor:
        """ln p of all response tokens, (B, T), without a gradient, in parts."""
        mask = batch["completion_mask"].bool()
        parts = []
        for rows in torch.arange(len(mask)).split(self.at_once):
            parts.append(self.log_probs(model, {name: batch[name][rows] for name in _ROLLOUT}, mask[rows]))
        return torch.cat(parts)

    def sampled_log_probs(self, batch: Batch) -> Tensor:
        """ln p of the response tokens, (B, T), under the policy that sampled; the statistics' differ by rounding."""
        return self.all_log_probs(self.trainer.model, batch)


def rows_of_groups(group_size: int, micro_batch: int) -> int:
    """The number of rollouts, in whole groups, whose statistics and packed log-probs are computed in one pass."""
    return group_size * max(1, micro_batch // group_size)


def with_prompts(batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Prompts joined with responses, and their attention mask, (B, P + T) each."""
    input_ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    return input_ids, torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)


def plain(accelerator: Any, model: Any) -> Any:
    """The causal model without the wrappers for ranks and adapters."""
    unwrapped = accelerator.unwrap_model(model)
    return unwrapped.get_base_model() if hasattr(unwrapped, "get_base_model") else unwrapped  # PEFT's


@contextmanager
def comparable(model: Any) -> Iterator[float]:
    """A context in which two passes of a model differ by rounding alone; gives how far ln p may differ, nats."""
    training, precision = model.training, torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")  # no TF32, whose rounding would hide the differences
    model.eval()
    try:
        with torch.no_grad():
            yield _ROUNDING * torch.finfo(model.dtype).eps ** 0.5
    finally:
        model.train(training)
        torch.set_float32_matmul_precision(precision)


def check_padding(model: Any, pad_id: int) -> None:
    """Raise a UserError if padding before a row changes its log-probs, as where positions are counted from it."""
    weight = model.get_input_embeddings().weight
    if weight.is_meta or not weight.numel():  # this rank's weights come later
        return
    ids = (torch.arange(11, 19, device=weight.device) % len(weight))[None]
    mask, padding = torch.ones_like(ids), torch.full_like(ids, pad_id)
    rows = (ids, mask), (torch.cat([padding, ids], 1), torch.cat([0 * mask, mask], 1))
    with comparable(model) as allowed:
        logits = [model(input_ids=row, attention_mask=on, use_cache=False).logits[:, -8:-1] for row, on in rows]
    plain, padded = (part.float().log_softmax(-1).gather(-1, ids[:, 1:, None]) for part in logits)
    if not (largest := (padded - plain).abs().max().item()) <= allowed:
        raise UserError(
            f"passes: dense is not allowed for this model ({model.config.model_type}: log-probabilities differ by "
            f"{largest:.2g} nats behind padding, which these passes have); allowed: packed, or another model"
        )


@dataclass
class Covered:
    """The tokens of a rollout batch with the largest covariance of ln p and A, over all ranks (verl #7829, #7830)."""

    passes: DensePasses
    share: float  # of the response tokens, at least one

    def rollouts(self, batch: Batch) -> None:
        """Store this rank's part of a rollout batch, and number its rows."""
        batch["row"] = torch.arange(len(batch["advantages"]), device=batch["advantages"].device)
        self._own, self._update = dict(batch), -1

    def chosen(self, rows: Tensor, update: int) -> Tensor:
        """The chosen tokens of n rows, (n, T) bool; chosen again before each update, by the policy at that time.

        Before the first update that is the policy that sampled. Later updates take a pass without a gradient.
        """
        if update != self._update:
            batch, accelerator = self._own, self.passes.accelerator
            logps = self.passes.all_log_probs(self.passes.trainer.model, batch) if update else batch["logprob"]
            logps = accelerator.gather(accelerator.pad_across_processes(logps, 1))
            gathered = whole_batch(accelerator, batch, pad_id=0)  # ids are not read
            advantages, tokens = gathered["advantages"].unsqueeze(1), gathered["completion_mask"].bool()
            bound = highest_covariance(logps, advantages, tokens, self.share)
            self._bound, self._update = own_rows(accelerator, bound, batch["completion_mask"]), update
        return self._bound[rows]
