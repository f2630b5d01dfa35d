"""Every rule on fresh rollouts of any checkpoint: what a training step would do there, without one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from ict_core.selection import Rule
from ict_core.shadow._groups import Groups
from ict_core.shadow._score import rebuilt, rule_seed, score_step
from ict_core.store import records
from ict_core.training import TrainingLog

STEP = 0  # of the only batch


@dataclass(frozen=True)
class Scored:
    """What the rules make of one batch of groups: frames of `records.TOKENS`, SHADOW, OVERLAP and GRADIENTS."""

    tokens: pd.DataFrame
    shadow: pd.DataFrame
    overlap: pd.DataFrame
    gradients: pd.DataFrame


def score_groups(groups: Groups, rules: Sequence[Rule], seed: int, temperature: float) -> Scored:
    """Score every rule, in their order, on groups that were sampled from a checkpoint.

    All groups, sampled at this temperature, are one batch, which is also the scope of a rule whose scope is the batch.
    The seed is of the rules' random draws.
    """
    tokens = token_frame(groups)
    shadow, overlap = score_step(tokens, rules, seed)
    batch = rebuilt(tokens)
    kept = [rule.kept(batch, rule_seed(seed, rule, STEP)) for rule in rules]
    carried = gradients(groups, kept, temperature).assign(rule=[rule.name for rule in rules])
    return Scored(tokens, shadow, overlap, carried[list(records.GRADIENTS)])


def token_frame(groups: Groups) -> pd.DataFrame:
    """All response tokens as `records.TOKENS`, by the training's own log; no rule has dropped any of them."""
    mask = groups.completion_mask
    size = groups.statistics.group_size
    keys = ("completion_mask", "completion_ids", "rewards", "advantages")
    batch = {key: getattr(groups, key) for key in keys}
    log = TrainingLog(size, sample_every=1, sample_groups=len(mask) // size)
    unknown = torch.full_like(groups.rewards, torch.nan)
    log.rollouts(STEP, batch, groups.statistics, mask, unknown, selecting=False)
    return log.tokens().assign(fork=groups.forks[mask].double().numpy())


def gradients(groups: Groups, kept: Sequence[Tensor], temperature: float) -> pd.DataFrame:
    """How much of GRPO's gradient with respect to the model's parameters each set of kept tokens carries.

    The gradient is that of the mean over rollouts of sum over kept t of A ln p(t) / T, T the response's length for
    every rule, so that nothing but the mask, (B, T) bool, differs. It takes one backward pass of the batch a rule.

    Returns:
        A row a rule: `norm_share` (the norm over that of all tokens' gradient) and `cosine` (between the two). NaN
        where no rollout has an advantage; the cosine also where the rule's gradient is 0.
    """
    whole = _gradient(groups, groups.completion_mask, temperature)
    norm = _dot(whole, whole) ** 0.5
    rows = []
    for mask in kept:
        part = _gradient(groups, mask, temperature)
        own = _dot(part, part) ** 0.5
        rows.append({"norm_share": own / norm, "cosine": _dot(part, whole) / (own * norm)})
    return pd.DataFrame([{name: value.item() for name, value in row.items()} for row in rows])


def _dot(one: Sequence[Tensor], other: Sequence[Tensor]) -> Tensor:
    return torch.stack([(a.double() * b.double()).sum() for a, b in zip(one, other, strict=True)]).sum()


def _gradient(groups: Groups, kept: Tensor, temperature: float) -> list[Tensor]:
    """The gradient with respect to each parameter, a group at a time; the head runs at the kept tokens alone."""
    model = groups.model
    backbone: Callable[..., Any] = model.get_decoder()
    weights = kept * (groups.advantages / groups.completion_mask.sum(-1))[:, None]
    parameters = [p for p in model.parameters() if p.requires_grad]
    model.zero_grad()
    for rows in torch.arange(len(weights)).split(groups.statistics.group_size):
        row, position = weights[rows].nonzero(as_tuple=True)
        if not len(row):
            continue
        ids = torch.cat([groups.prompt_ids[rows], groups.completion_ids[rows]], 1).to(model.device)
        attention = torch.cat([groups.prompt_mask[rows], groups.completion_mask[rows]], 1).long().to(model.device)
        states = backbone(input_ids=ids, attention_mask=attention, use_cache=False).last_hidden_state
        hidden = states[row, position + groups.prompt_ids.size(1) - 1]
        logits = (hidden @ model.get_output_embeddings().weight.T).float() / temperature
        logprob = torch.log_softmax(logits, -1)[torch.arange(len(row)), groups.completion_ids[rows][row, position]]
        (logprob * weights[rows][row, position].to(model.device)).sum().backward()
    gradient = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in parameters]
    model.zero_grad()
    return gradient


def side_by_side(scored: Scored) -> str:
    """The rules as a table of text: shares and means of :func:`ict_core.shadow._score.composition`, and gradients."""
    table = scored.shadow.merge(scored.gradients, on="rule").drop(columns=["step", "tokens", "forks"])
    return str(table.set_index("rule").to_string(float_format="{:.3f}".format, na_rep="-"))
