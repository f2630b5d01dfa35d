"""Selects the tokens that a rule trains, for a user's own training loop."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ict_core.errors import UserError
from ict_core.models.head import lm_head
from ict_core.selection.base import TokenBatch
from ict_core.tokens.streaming import TokenStatistics, token_statistics
from ict_core.training.choice import Choice
from ict_core.training.objective import normaliser
from ict_core.training.passes import with_prompts


class Selected(NamedTuple):
    """A rule's result for a rollout batch; the loss is ``-(gain * weights).sum(1) / denominator``, averaged over rows.

    ``gain`` is each token's part of the objective, such as the clipped ratio times the advantage.
    """

    weights: Tensor  # (B, T), float32
    denominator: Tensor  # (B,)
    statistics: TokenStatistics  # of every response token, (B, T) by name: logprob, h1, h2 and the rule's score


@torch.no_grad()
def select(
    model: Any,
    batch: Mapping[str, Tensor],
    selection: Any,
    *,
    group_size: int,
    temperature: float = 1.0,
    seed: int = 0,
    step: int | None = None,
) -> Selected:
    """The weights of a rollout batch's tokens under the policy ``model``, which sampled it.

    Args:
        model: a causal model of transformers; it is run as it is, without a gradient, one group at a time.
        batch: B rollouts by TRL's names: ``prompt_ids`` (B, P), padded on the left, ``completion_ids`` (B, T), padded
            on the right, their masks ``prompt_mask`` and ``completion_mask``, and ``advantages`` (B,).
        selection: what ``Choice.of`` takes: a name ("grpo"), a YAML file, a rule; ``Choice.of("ict-10", 10)``.
        group_size: rollouts of one prompt, G; groups are consecutive rows.
        temperature: the sampling temperature of the rollouts.
        seed: the seed of a rule's random draws; pass another one in each step.
        step: the optimiser step, for a selection with a warm-up.

    Raises:
        UserError: the selection is unknown, has more than one weight per token or an advantage of its own, or has a
            warm-up and ``step`` is missing; or the model's head has a bias.
        ValueError: B is not a multiple of G, a tensor has another shape, the temperature is not above 0, or the model's
            probabilities are not numbers.
    """
    choice, head = Choice.of(selection), lm_head(model)
    if choice.advantage is not None:
        raise UserError(
            "selection: an advantage of its own is no weight; give batch['advantages'] as the method has them, and a "
            "Choice of its rule and normaliser"
        )
    if choice.two_updates:
        raise UserError(
            "selection: a rule of two updates is more than one weight a token; train it by SelectiveGRPOTrainer with "
            "num_iterations=2"
        )
    if step is None and choice.warmup_steps:
        raise UserError(f"select: step is missing, as the first {choice.warmup_steps} steps train every token")
    replace(choice, decisions=None).check(updates=1)  # the true steps of these rollouts are not known here
    _check_rollouts(batch, group_size, temperature)
    mask, length = batch["completion_mask"].bool(), batch["completion_ids"].size(1)
    parts = []
    for rows in torch.arange(len(mask), device=mask.device).split(group_size):
        ids, attention = (part[rows] for part in with_prompts(batch))
        first = int(attention.any(0).int().argmax())  # without padding, as some models count positions from column 0
        ids, attention = ids[:, first:], attention[:, first:]
        states = model.get_decoder()(input_ids=ids, attention_mask=attention, use_cache=False).last_hidden_state
        states = states[:, -length - 1 : -1].flatten(0, 1)
        where = torch.arange(len(states), device=mask.device).view(-1, length).masked_fill(~mask[rows], -1)
        options: dict[str, Any] = {"group_size": group_size, "temperature": temperature, "scores": choice.scores}
        parts.append(token_statistics(states, head, where, batch["completion_ids"][rows], **options))
    statistics = TokenStatistics(torch.cat([part.values for part in parts], 1), parts[0].names, group_size)
    if statistics.values.isnan().any():
        raise ValueError("select: the model's probabilities are NaN; allowed: finite logits")
    if step is not None and step < choice.warmup_steps:
        return Selected(mask.float(), normaliser("response", mask, mask), statistics)
    weights = choice.rule.weights(TokenBatch(statistics, batch["advantages"], mask, batch["completion_ids"]), seed)
    return Selected(weights.float(), normaliser(choice.normaliser, weights > 0, mask), statistics)


def _check_rollouts(batch: Mapping[str, Tensor], group_size: int, temperature: float) -> None:
    """Raise a ValueError if the batch's shapes do not fit each other or the groups, or the temperature is invalid."""
    (rows, prompt), (_, length) = batch["prompt_ids"].shape, batch["completion_ids"].shape
    if not 0 < temperature < math.inf:
        raise ValueError(f"select: temperature {temperature}; allowed: a number above 0")
    if group_size < 1 or not rows or rows % group_size:
        raise ValueError(f"select: {rows} rollouts are not whole groups of {group_size}; allowed: one or more")
    if not prompt or not length:
        raise ValueError(
            f"select: prompts of {prompt} and completions of {length} tokens; allowed: at least one of each"
        )
    shapes = {"prompt_mask": (rows, prompt), "completion_ids": (rows, length), "completion_mask": (rows, length)}
    for name, shape in {**shapes, "advantages": (rows,)}.items():
        if batch[name].shape != shape:
            raise ValueError(f"select: {name} of shape {tuple(batch[name].shape)}; allowed: {shape}")
