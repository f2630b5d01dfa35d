"""Groups of rollouts of any checkpoint on any prompts, with all that a selection rule may know of their tokens."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ict_core.evaluation.engine import Request, Sampling
from ict_core.evaluation.engines import load_engine
from ict_core.evaluation.generate import context_length, stop_token_ids
from ict_core.evaluation.transformers_engine import TransformersEngine
from ict_core.grading.pool import GradingPool
from ict_core.problems.mini.arithmetic import fork_tokens
from ict_core.seeding import derive_seed
from ict_core.store.token_scores import GROUP_SCORES
from ict_core.tokens.streaming import TokenStatistics, token_statistics
from ict_core.training.rewards import verifier_reward

_TOKENS_AT_ONCE = 2**14  # of one forward pass; one group at least
_PROBABILITIES_AT_ONCE = 2**24  # 64 MiB in float32


@dataclass(frozen=True)
class Alternatives:
    """The likeliest tokens at each response position, the likeliest first; what lies outside the response is zero.

    Attributes:
        ids: (B, T, k).
        probs: (B, T, k), at the sampling temperature.
    """

    ids: Tensor
    probs: Tensor


@dataclass(frozen=True)
class Groups:
    """Rollouts of G a prompt, in the order of the prompts. B rollouts, prompts of P and responses of T tokens.

    As in training, a stop token is the last token of its response. All tensors are on the CPU.

    Attributes:
        problems: ``records.PROBLEMS``, one row a prompt.
        prompt_ids: (B, P), padded on the left.
        prompt_mask: (B, P), True at the prompt.
        completion_ids: (B, T), padded on the right.
        completion_mask: (B, T), True at the response.
        rewards: (B,), 1 for a correct answer, else 0; NaN where the answer could not be graded.
        advantages: (B,), see :func:`group_advantages`.
        statistics: with every group score.
        forks: (B, T), 1 at a known decision point, else 0; NaN where the problems have none that are known.
        alternatives: None where none were asked for.
        model: in evaluation mode, float32.
        tokenizer: its own.
    """

    problems: pd.DataFrame
    prompt_ids: Tensor
    prompt_mask: Tensor
    completion_ids: Tensor
    completion_mask: Tensor
    rewards: Tensor
    advantages: Tensor
    statistics: TokenStatistics
    forks: Tensor
    alternatives: Alternatives | None
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase


def sample_groups(
    checkpoint: Path,
    problems: pd.DataFrame,
    *,
    group_size: int,
    temperature: float,
    max_new_tokens: int,
    seed: int,
    grading: dict[str, Any],
    known_forks: bool,
    alternatives: int = 0,
    threads: int = 1,
) -> Groups:
    """Sample groups of rollouts as a training does, grade them, and read the policy at every response token.

    The model runs in float32, on a GPU where one is visible.

    Args:
        checkpoint: a Hugging Face checkpoint folder.
        problems: ``records.PROBLEMS``; the prompts stand in the model's template already.
        group_size: G, rollouts a prompt.
        temperature: of the sampling; the policy is read at it.
        max_new_tokens: the longest response.
        seed: from which the seed of each (problem, rollout) is derived; a rollout depends on no other.
        grading: the limits of the verifier, as keywords of ``GradingPool``.
        known_forks: whether the problems are the mini world's, whose decision points are known.
        alternatives: k, the number of likeliest tokens that are kept at every position.
        threads: of the CPU.

    Raises:
        UserError: the folder is no checkpoint, names no stop id, or cannot hold prompt and response.
    """
    sampling = Sampling(temperature, 1.0, max_new_tokens, stop_token_ids(checkpoint))
    length = context_length(checkpoint, problems, max_new_tokens, "max_new_tokens")
    engine = load_engine("transformers", checkpoint, length, threads, "float32")
    assert isinstance(engine, TransformersEngine)
    model, tokenizer = engine.model, engine.tokenizer
    problems = problems.reset_index(drop=True)
    repeated = problems.loc[problems.index.repeat(group_size)]
    seeds = [derive_seed(seed, "inspection", str(p), g) for p in problems["problem"] for g in range(group_size)]
    requests = [Request(prompt, own) for prompt, own in zip(repeated["prompt"], seeds, strict=True)]
    responses = [ids.cpu() for ids, _ in engine.sample_ids(requests, sampling)]
    prompts = tokenizer(repeated["prompt"].tolist(), return_tensors="pt", padding=True)
    completion_ids = pad_sequence(responses, batch_first=True, padding_value=int(tokenizer.pad_token_id or 0))
    lengths = torch.tensor([len(ids) for ids in responses])
    mask = torch.arange(completion_ids.size(1)) < lengths[:, None]
    texts = [str(tokenizer.decode(ids, skip_special_tokens=True)) for ids in responses]
    with GradingPool(workers=1, **grading) as pool:
        verified = verifier_reward(pool)(texts, repeated["answer"].tolist(), repeated["answer_type"].tolist())
    rewards = torch.tensor([float("nan") if r is None else r for r in verified])
    forks = torch.full(mask.shape, torch.nan)
    if known_forks:
        marks = [torch.tensor(fork_tokens(tokenizer, ids.tolist()), dtype=torch.float32) for ids in responses]
        forks = pad_sequence(marks, batch_first=True)
    rollouts = {
        "prompt_ids": prompts["input_ids"],
        "prompt_mask": prompts["attention_mask"].bool(),
        "completion_ids": completion_ids,
        "completion_mask": mask,
    }
    statistics, likeliest = _read(model, rollouts, group_size, temperature, alternatives)
    return Groups(
        problems=problems,
        **rollouts,
        rewards=rewards,
        advantages=group_advantages(rewards, group_size),
        statistics=statistics,
        forks=forks,
        alternatives=likeliest,
        model=model,
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
    model: PreTrainedModel, rollouts: dict[str, Tensor], group_size: int, temperature: float, alternatives: int
) -> tuple[TokenStatistics, Alternatives | None]:
    """The statistics of all groups, some whole groups at a time, and the ``alternatives`` likeliest tokens."""
    ids = torch.cat([rollouts["prompt_ids"], rollouts["completion_ids"]], 1)
    attention = torch.cat([rollouts["prompt_mask"], rollouts["completion_mask"]], 1)
    before = rollouts["prompt_ids"].size(1) - 1  # the state that predicts the first response token
    backbone: Callable[..., Any] = model.get_decoder()
    head = model.get_output_embeddings().weight
    at_once = group_size * max(1, _TOKENS_AT_ONCE // (group_size * ids.size(1)))
    options: dict[str, Any] = {"group_size": group_size, "temperature": temperature, "scores": tuple(GROUP_SCORES)}
    parts: list[TokenStatistics] = []
    likeliest: list[tuple[Tensor, Tensor]] = []
    for rows in torch.arange(len(ids)).split(at_once):
        inputs = {"input_ids": ids[rows].to(model.device), "attention_mask": attention[rows].long().to(model.device)}
        hidden = backbone(**inputs, use_cache=False).last_hidden_state[:, before:-1]
        responses = rollouts["completion_ids"][rows].to(model.device)
        live = rollouts["completion_mask"][rows].to(model.device)
        where = torch.arange(live.numel(), device=live.device).view_as(live).masked_fill(~live, -1)
        statistics = token_statistics(hidden.flatten(0, 1), head, where, responses, **options)
        parts.append(replace(statistics, values=statistics.values.cpu()))
        likeliest.append(_likeliest(hidden, head, live, temperature, alternatives))
    tokens, probs = (torch.cat(part) for part in zip(*likeliest, strict=True))
    return TokenStatistics.joined(parts), Alternatives(tokens, probs) if alternatives else None


def _likeliest(hidden: Tensor, head: Tensor, live: Tensor, temperature: float, k: int) -> tuple[Tensor, Tensor]:
    """Ids and probabilities of the ``k`` likeliest tokens, (rows, T, k) each, a part of the positions at a time."""
    ids = torch.zeros(*live.shape, k, dtype=torch.long)
    probs = torch.zeros(*live.shape, k)
    at = live.nonzero()
    for some in at.split(max(1, _PROBABILITIES_AT_ONCE // head.size(0))) if k else ():
        row, position = some.unbind(-1)
        top = torch.softmax((hidden[row, position] @ head.T).float() / temperature, -1).topk(k)
        row, position = row.cpu(), position.cpu()
        ids[row, position], probs[row, position] = top.indices.cpu(), top.values.cpu()
    return ids, probs
