"""Groups of rollouts of any checkpoint: everything that a rule may know of their tokens, and what each rule keeps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ict_core.errors import UserError
from ict_core.evaluation.engine import Request, Sampling
from ict_core.evaluation.generate import context_length, stop_token_ids
from ict_core.evaluation.transformers_engine import TransformersEngine
from ict_core.grading.pool import GradingPool
from ict_core.models.head import lm_head
from ict_core.problems.mini.arithmetic import fork_tokens
from ict_core.problems.mini.decisions import decision_tokens
from ict_core.process.job_log import Progress
from ict_core.seeding import derive_seed
from ict_core.selection.base import Rule
from ict_core.shadow.gradients import gradient_shares
from ict_core.shadow.rollouts import STEP, Rollouts, read_groups, token_rows
from ict_core.shadow.score import rebuilt, rule_seed, score_step
from ict_core.store import records
from ict_core.store.token_scores import UNSAMPLED_SCORES
from ict_core.tokens.streaming import Head, TokenStatistics
from ict_core.training.rewards import verifier_reward

_PROBABILITIES_AT_ONCE = 2**24  # 64 MiB in float32


@dataclass(frozen=True)
class Alternatives:
    """The likeliest tokens at each response position, the likeliest first; zero outside the response."""

    ids: Tensor  # (B, T, k)
    probs: Tensor  # (B, T, k), at the sampling temperature


@dataclass(frozen=True)
class Groups:
    """G rollouts per prompt, in the order of the prompts. B rollouts, prompts of P and responses of T tokens.

    As in training, a stop token is the last token of its response. All tensors are on the CPU.
    """

    problems: pd.DataFrame  # `records.PROBLEMS`, one row a prompt
    prompt_ids: Tensor  # (B, P), padded on the left
    prompt_mask: Tensor  # (B, P), True at the prompt
    completion_ids: Tensor  # (B, T), padded on the right
    completion_mask: Tensor  # (B, T), True at the response
    rewards: Tensor  # (B,), 1 for a correct answer, else 0; NaN if the answer could not be graded
    advantages: Tensor  # (B,), see :func:`group_advantages`
    statistics: TokenStatistics  # with every group score
    forks: Tensor  # (B, T), 1 at a known decision point, else 0; NaN if the problems have no known ones
    alternatives: Alternatives | None  # None where none were asked for
    model: PreTrainedModel  # in evaluation mode, float32
    tokenizer: PreTrainedTokenizerBase

    @property
    def rollouts(self) -> Rollouts:
        """Prompts and responses."""
        return Rollouts(self.prompt_ids, self.prompt_mask, self.completion_ids, self.completion_mask)

    def decisions(self, rules: Sequence[Rule]) -> Tensor | None:
        """The tokens that decide, (B, T) bool, if one of these rules reads them; else None.

        Raises:
            UserError: a rule reads them, and the problems' true steps are not known.
        """
        reading = [rule.name for rule in rules if rule.traits.known_steps]
        if not reading:
            return None
        if self.forks.isnan().any():
            raise UserError(f"{reading[0]}: reads true steps; allowed: on the mini world's problems, whose are known")
        size, mask = self.statistics.group_size, self.completion_mask
        prompts = self.problems["prompt"].repeat(size)
        responses = [ids[on].tolist() for ids, on in zip(self.completion_ids, mask, strict=True)]
        marks = [decision_tokens(self.tokenizer, prompt, ids) for prompt, ids in zip(prompts, responses, strict=True)]
        return torch.zeros_like(mask).masked_scatter(mask, torch.tensor(sum(marks, [])))


@dataclass(frozen=True)
class GroupSampling:
    """How groups are sampled, and what is read from them."""

    group_size: int  # G, rollouts a prompt
    temperature: float  # of the sampling and of the policy that is read
    max_new_tokens: int  # the longest response
    seed: int  # from which the seed of each (problem, rollout) is derived; a rollout depends on no other
    known_forks: bool = False  # whether the problems are the mini world's, whose steps and decision points are known
    alternatives: int = 0  # k, the number of likeliest tokens that are stored at every position
    threads: int = 1  # of the CPU


def sample_groups(checkpoint: Path, problems: pd.DataFrame, sampling: GroupSampling, grading: dict[str, Any]) -> Groups:
    """Sample groups of rollouts as a training does, grade them, and read the policy at every response token.

    The model runs in float32, on a GPU if one is visible. ``problems`` are ``records.PROBLEMS`` with prompts that are
    in the model's template already; ``grading`` are the verifier's limits, keywords of ``GradingPool``.

    Raises:
        UserError: the folder is no checkpoint, names no stop id, or cannot hold prompt and response.
    """
    stops = stop_token_ids(checkpoint)
    length = context_length(checkpoint, problems, sampling.max_new_tokens)
    engine = TransformersEngine(checkpoint, length, sampling.threads, "float32")
    tokenizer, size = engine.tokenizer, sampling.group_size
    problems = problems.reset_index(drop=True)
    repeated = problems.loc[problems.index.repeat(size)]
    seeds = [derive_seed(sampling.seed, "inspection", str(p), g) for p in problems["problem"] for g in range(size)]
    requests = [Request(prompt, request_seed) for prompt, request_seed in zip(repeated["prompt"], seeds, strict=True)]
    sampled = engine.sample(requests, Sampling(sampling.temperature, 1.0, sampling.max_new_tokens, stops))
    responses = [torch.tensor(completion.ids) for completion in sampled]
    texts = [completion.text for completion in sampled]
    rollouts = Rollouts.of(tokenizer, repeated["prompt"].tolist(), responses)
    with GradingPool(workers=1, **grading) as pool:
        verified = verifier_reward(pool)(texts, repeated["answer"].tolist(), repeated["answer_type"].tolist())
    rewards = torch.tensor([float("nan") if r is None else r for r in verified])
    forks = torch.full(rollouts.completion_mask.shape, torch.nan)
    if sampling.known_forks:
        marks = [torch.tensor(fork_tokens(tokenizer, ids.tolist()), dtype=torch.float32) for ids in responses]
        forks = torch.zeros_like(forks).masked_scatter(rollouts.completion_mask, torch.cat(marks))
    statistics, alternatives = _read(engine.model, rollouts, sampling)
    return Groups(
        problems=problems,
        **rollouts._asdict(),
        rewards=rewards,
        advantages=group_advantages(rewards, size),
        statistics=statistics,
        forks=forks,
        alternatives=alternatives,
        model=engine.model,
        tokenizer=tokenizer,
    )


def group_advantages(rewards: Tensor, group_size: int) -> Tensor:
    """GRPO's advantages as in TRL, (r - mean) / (std + 1e-4) in the group, std with n - 1; (B,) -> (B,).

    A reward of NaN is left out of its group's mean and deviation and has advantage 0; so has a reward that is alone.
    """
    groups = rewards.view(-1, group_size)
    centred = groups - groups.nanmean(-1, keepdim=True)
    others = (~groups.isnan()).sum(-1, keepdim=True) - 1
    deviation = (centred.square().nansum(-1, keepdim=True) / others.clamp(min=1)).sqrt()
    return (centred / (deviation + 1e-4)).nan_to_num(0.0).flatten()


@torch.no_grad()
def _read(
    model: PreTrainedModel, rollouts: Rollouts, sampling: GroupSampling
) -> tuple[TokenStatistics, Alternatives | None]:
    """The statistics of all groups, one at a time, and the likeliest tokens."""
    size, temperature, head = sampling.group_size, sampling.temperature, lm_head(model)
    shape = (*rollouts.completion_mask.shape, sampling.alternatives)
    parts, tokens, probs = [], torch.zeros(shape, dtype=torch.long), torch.zeros(shape)
    progress = Progress("prompt", len(rollouts.prompt_ids) // size)
    for group, rows in enumerate(torch.arange(len(rollouts.prompt_ids)).split(size)):
        part = rollouts.rows(rows)
        statistics, states, where = read_groups(model, part, size, temperature, packed=False)
        length = part.completion_ids.size(1)
        parts.append(torch.nn.functional.pad(statistics.values.cpu(), (0, shape[1] - length)))
        likeliest = _likeliest(states, head, where, temperature, sampling.alternatives)
        tokens[rows, :length], probs[rows, :length] = likeliest
        progress.update(group + 1)
    alternatives = Alternatives(tokens, probs) if sampling.alternatives else None
    return replace(statistics, values=torch.cat(parts, 1)), alternatives


def _likeliest(states: Tensor, head: Head, where: Tensor, temperature: float, k: int) -> tuple[Tensor, Tensor]:
    """Ids and probabilities of the ``k`` likeliest tokens, (rows, T, k) each, for a part of the positions at a time."""
    ids = torch.zeros(*where.shape, k, dtype=torch.long)
    probs = torch.zeros(*where.shape, k)
    at = (where >= 0).nonzero()
    for some in at.split(max(1, _PROBABILITIES_AT_ONCE // len(head.weight))) if k else ():
        row, position = some.unbind(-1)
        top = torch.softmax(head.logits(states[where[row, position]]).float() / temperature, -1).topk(k)
        row, position = row.cpu(), position.cpu()
        ids[row, position], probs[row, position] = top.indices.cpu(), top.values.cpu()
    return ids, probs


def score_groups(groups: Groups, rules: Sequence[Rule], seed: int, temperature: float) -> dict[str, pd.DataFrame]:
    """Score every rule, in their order, on groups that were sampled from a checkpoint.

    All groups, sampled at this temperature, are one batch, which is also the scope of a rule whose scope is the batch.
    The seed is for the rules' random draws. Returns `tokens`, `shadow`, `overlap` and `gradients`, frames of
    `records.TOKENS`, SHADOW, OVERLAP and GRADIENTS.
    """
    mask, decisions = groups.completion_mask, groups.decisions(rules)
    tokens = token_rows(groups.rollouts, groups.statistics, groups.rewards, groups.advantages)
    tokens = tokens.assign(fork=groups.forks[mask].double().numpy())
    unsampled = {name: groups.statistics[name][mask].double().numpy() for name in UNSAMPLED_SCORES}
    known_tokens = tokens.assign(**unsampled)
    if decisions is not None:
        known_tokens = known_tokens.assign(decides=decisions[mask].numpy())
    shadow, overlap = score_step(known_tokens, rules, seed)
    batch = rebuilt(known_tokens)
    weights = [rule.weights(batch, rule_seed(seed, rule, STEP)) for rule in rules]
    carried = gradients(groups, weights, temperature).assign(rule=[rule.name for rule in rules])
    return {"tokens": tokens, "shadow": shadow, "overlap": overlap, "gradients": carried[list(records.GRADIENTS)]}


def gradients(groups: Groups, weights: Sequence[Tensor], temperature: float) -> pd.DataFrame:
    """:func:`gradient_shares` of each rule's weights, (B, T): `norm_share` and `cosine`.

    Means over the prompts whose gradient is not 0 (for the cosine the rule's too), each a batch by itself; NaN if none.
    """
    size, shares = groups.statistics.group_size, []
    progress = Progress("gradient", len(groups.prompt_ids) // size)
    for group, rows in enumerate(torch.arange(len(groups.prompt_ids)).split(size)):
        part, length = groups.rollouts.rows(rows), int(groups.completion_mask[rows].any(0).sum())
        cropped = [rule_weights[rows, :length] for rule_weights in weights]
        shares.append(gradient_shares(groups.model, part, groups.advantages[rows], cropped, temperature, packed=False))
        progress.update(group + 1)
    values = torch.tensor(shares, dtype=torch.float64)  # (prompts, rules, 2)
    return pd.DataFrame(values.nanmean(0).numpy(), columns=["norm_share", "cosine"])


def side_by_side(scored: dict[str, pd.DataFrame]) -> str:
    """The rules as a table of text: shares and means of :func:`ict_core.shadow.score.composition`, and gradients."""
    table = scored["shadow"].merge(scored["gradients"], on="rule").drop(columns=["step", "tokens", "forks"])
    return str(table.set_index("rule").to_string(float_format="{:.3f}".format, na_rep="-"))
