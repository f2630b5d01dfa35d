"""Groups of rollouts of any checkpoint: all that a rule may know of their tokens, and what each rule keeps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ict_core.evaluation import Request, Sampling, TransformersEngine, context_length, load_engine, stop_token_ids
from ict_core.grading import GradingPool
from ict_core.models import lm_head
from ict_core.problems.mini import fork_tokens
from ict_core.seeding import derive_seed
from ict_core.selection import Rule
from ict_core.shadow._score import rebuilt, rule_seed, score_step
from ict_core.store import GROUP_SCORES, records
from ict_core.tokens import Head
from ict_core.tokens.streaming import TokenStatistics, token_statistics
from ict_core.training import TrainingLog, verifier_reward

STEP = 0  # of the only batch
_TOKENS_AT_ONCE = 2**14  # of one forward pass; one group at least
_PROBABILITIES_AT_ONCE = 2**24  # 64 MiB in float32


@dataclass(frozen=True)
class Alternatives:
    """The likeliest tokens at each response position, the likeliest first; what lies outside the response is zero."""

    ids: Tensor  # (B, T, k)
    probs: Tensor  # (B, T, k), at the sampling temperature


@dataclass(frozen=True)
class Groups:
    """Rollouts of G a prompt, in the order of the prompts. B rollouts, prompts of P and responses of T tokens.

    As in training, a stop token is the last token of its response. All tensors are on the CPU.
    """

    problems: pd.DataFrame  # `records.PROBLEMS`, one row a prompt
    prompt_ids: Tensor  # (B, P), padded on the left
    prompt_mask: Tensor  # (B, P), True at the prompt
    completion_ids: Tensor  # (B, T), padded on the right
    completion_mask: Tensor  # (B, T), True at the response
    rewards: Tensor  # (B,), 1 for a correct answer, else 0; NaN where the answer could not be graded
    advantages: Tensor  # (B,), see :func:`group_advantages`
    statistics: TokenStatistics  # with every group score
    forks: Tensor  # (B, T), 1 at a known decision point, else 0; NaN where the problems have none that are known
    alternatives: Alternatives | None  # None where none were asked for
    model: PreTrainedModel  # in evaluation mode, float32
    tokenizer: PreTrainedTokenizerBase


@dataclass(frozen=True)
class GroupSampling:
    """How groups are sampled, and what is read of them."""

    group_size: int  # G, rollouts a prompt
    temperature: float  # of the sampling; the policy is read at it
    max_new_tokens: int  # the longest response
    seed: int  # from which the seed of each (problem, rollout) is derived; a rollout depends on no other
    known_forks: bool = False  # whether the problems are the mini world's, whose decision points are known
    alternatives: int = 0  # k, the number of likeliest tokens that are kept at every position
    threads: int = 1  # of the CPU


def sample_groups(checkpoint: Path, problems: pd.DataFrame, sampling: GroupSampling, grading: dict[str, Any]) -> Groups:
    """Sample groups of rollouts as a training does, grade them, and read the policy at every response token.

    The model runs in float32, on a GPU where one is visible. ``problems`` are ``records.PROBLEMS``, whose prompts stand
    in the model's template already; ``grading`` are the verifier's limits, keywords of ``GradingPool``.

    Raises:
        UserError: the folder is no checkpoint, names no stop id, or cannot hold prompt and response.
    """
    stops = stop_token_ids(checkpoint)
    length = context_length(checkpoint, problems, sampling.max_new_tokens, "max_new_tokens")
    engine = load_engine("transformers", checkpoint, length, sampling.threads, "float32")
    assert isinstance(engine, TransformersEngine)
    tokenizer, size = engine.tokenizer, sampling.group_size
    problems = problems.reset_index(drop=True)
    repeated = problems.loc[problems.index.repeat(size)]
    seeds = [derive_seed(sampling.seed, "inspection", str(p), g) for p in problems["problem"] for g in range(size)]
    requests = [Request(prompt, own) for prompt, own in zip(repeated["prompt"], seeds, strict=True)]
    sampled = engine.sample_ids(requests, Sampling(sampling.temperature, 1.0, sampling.max_new_tokens, stops))
    responses = [ids.cpu() for ids, _ in sampled]
    prompts = tokenizer(repeated["prompt"].tolist(), return_tensors="pt", padding=True)
    rollouts = {
        "prompt_ids": prompts["input_ids"],
        "prompt_mask": prompts["attention_mask"].bool(),
        "completion_ids": pad_sequence(responses, batch_first=True, padding_value=int(tokenizer.pad_token_id or 0)),
        "completion_mask": pad_sequence([torch.ones_like(ids).bool() for ids in responses], batch_first=True),
    }
    texts = [str(tokenizer.decode(ids, skip_special_tokens=True)) for ids in responses]
    with GradingPool(workers=1, **grading) as pool:
        verified = verifier_reward(pool)(texts, repeated["answer"].tolist(), repeated["answer_type"].tolist())
    rewards = torch.tensor([float("nan") if r is None else r for r in verified])
    forks = torch.full(rollouts["completion_mask"].shape, torch.nan)
    if sampling.known_forks:
        marks = [torch.tensor(fork_tokens(tokenizer, ids.tolist()), dtype=torch.float32) for ids in responses]
        forks = pad_sequence(marks, batch_first=True)
    statistics, alternatives = _read(engine.model, rollouts, sampling)
    return Groups(
        problems=problems,
        **rollouts,
        rewards=rewards,
        advantages=group_advantages(rewards, size),
        statistics=statistics,
        forks=forks,
        alternatives=alternatives,
        model=engine.model,
        tokenizer=tokenizer,
    )


def group_advantages(rewards: Tensor, group_size: int) -> Tensor:
    """GRPO's advantages as TRL has them, (r - mean) / (std + 1e-4) in the group, std with n - 1; (B,) -> (B,).

    A reward of NaN is left out of its group's mean and deviation and has advantage 0; so has one that is alone.
    """
    groups = rewards.view(-1, group_size)
    centred = groups - groups.nanmean(-1, keepdim=True)
    others = (~groups.isnan()).sum(-1, keepdim=True) - 1
    deviation = (centred.square().nansum(-1, keepdim=True) / others.clamp(min=1)).sqrt()
    return (centred / (deviation + 1e-4)).nan_to_num(0.0).flatten()


@torch.no_grad()
def _read(
    model: PreTrainedModel, rollouts: dict[str, Tensor], sampling: GroupSampling
) -> tuple[TokenStatistics, Alternatives | None]:
    """The statistics of all groups, some whole groups at a time, and the likeliest tokens."""
    size, temperature = sampling.group_size, sampling.temperature
    ids = torch.cat([rollouts["prompt_ids"], rollouts["completion_ids"]], 1)
    attention = torch.cat([rollouts["prompt_mask"], rollouts["completion_mask"]], 1)
    before = rollouts["prompt_ids"].size(1) - 1  # the state that predicts the first response token
    backbone: Callable[..., Any] = model.get_decoder()
    head = lm_head(model)
    at_once = size * max(1, _TOKENS_AT_ONCE // (size * ids.size(1)))
    parts: list[Tensor] = []
    likeliest: list[tuple[Tensor, Tensor]] = []
    for rows in torch.arange(len(ids)).split(at_once):
        inputs = {"input_ids": ids[rows].to(model.device), "attention_mask": attention[rows].long().to(model.device)}
        hidden = backbone(**inputs, use_cache=False).last_hidden_state[:, before:-1]
        responses = rollouts["completion_ids"][rows].to(model.device)
        live = rollouts["completion_mask"][rows].to(model.device)
        where = torch.arange(live.numel(), device=live.device).view_as(live).masked_fill(~live, -1)
        options: dict[str, Any] = {"group_size": size, "temperature": temperature, "scores": tuple(GROUP_SCORES)}
        statistics = token_statistics(hidden.flatten(0, 1), head, where, responses, **options)
        parts.append(statistics.values.cpu())
        likeliest.append(_likeliest(hidden, head, live, temperature, sampling.alternatives))
    alternatives = None
    if sampling.alternatives:
        tokens, probs = zip(*likeliest, strict=True)
        alternatives = Alternatives(torch.cat(tokens), torch.cat(probs))
    return replace(statistics, values=torch.cat(parts, 1)), alternatives


def _likeliest(hidden: Tensor, head: Head, live: Tensor, temperature: float, k: int) -> tuple[Tensor, Tensor]:
    """Ids and probabilities of the ``k`` likeliest tokens, (rows, T, k) each, a part of the positions at a time."""
    ids = torch.zeros(*live.shape, k, dtype=torch.long)
    probs = torch.zeros(*live.shape, k)
    at = live.nonzero()
    for some in at.split(max(1, _PROBABILITIES_AT_ONCE // len(head.weight))) if k else ():
        row, position = some.unbind(-1)
        top = torch.softmax(head.logits(hidden[row, position]).float() / temperature, -1).topk(k)
        row, position = row.cpu(), position.cpu()
        ids[row, position], probs[row, position] = top.indices.cpu(), top.values.cpu()
    return ids, probs


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
    every rule, so that nothing but the mask, (B, T) bool, differs. It takes one backward pass of the batch a rule. Of
    each rule `norm_share` (the norm over that of all tokens' gradient) and `cosine` (between the two): NaN where no
    rollout has an advantage, the cosine also where the rule's gradient is 0.
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
        logits = lm_head(model).logits(hidden).float() / temperature
        logprob = torch.log_softmax(logits, -1)[torch.arange(len(row)), groups.completion_ids[rows][row, position]]
        (logprob * weights[rows][row, position].to(model.device)).sum().backward()
    gradient = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in parameters]
    model.zero_grad()
    return gradient


def side_by_side(scored: Scored) -> str:
    """The rules as a table of text: shares and means of :func:`ict_core.shadow._score.composition`, and gradients."""
    table = scored.shadow.merge(scored.gradients, on="rule").drop(columns=["step", "tokens", "forks"])
    return str(table.set_index("rule").to_string(float_format="{:.3f}".format, na_rep="-"))
