"""Rollouts of one model as padded tensors, and the policy's states that predict their tokens."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import pandas as pd
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase

from ict_core.models.head import lm_head
from ict_core.store.token_scores import GROUP_SCORES, UNSAMPLED_SCORES
from ict_core.tokens.streaming import TokenStatistics, token_statistics
from ict_core.training.fast.packing import pack
from ict_core.training.token_log import TrainingLog

STEP = 0  # the step of the only batch


class Rollouts(NamedTuple):
    """B rollouts, prompts of P and responses of T tokens; rows of one prompt are adjacent."""

    prompt_ids: Tensor  # (B, P), padded on the left
    prompt_mask: Tensor  # (B, P), True at the prompt
    completion_ids: Tensor  # (B, T), padded on the right
    completion_mask: Tensor  # (B, T), True at the response

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase, prompts: Sequence[str], responses: Sequence[Tensor]) -> Self:
        """From each rollout's prompt, which is in its template already, and its sampled ids, (T_i,)."""
        ids = [torch.tensor(tokens) for tokens in tokenizer(list(prompts))["input_ids"]]
        return cls(*_padded(ids, "left"), *_padded(responses, "right"))

    def rows(self, some: Tensor | slice) -> Self:
        """Some of the rollouts, without the columns that are padding in all of them."""
        prompts, responses = self.prompt_mask[some].any(0), self.completion_mask[some].any(0)
        columns = (prompts, prompts, responses, responses)
        return type(self)(*(part[some][:, own] for part, own in zip(self, columns, strict=True)))


def _padded(sequences: Sequence[Tensor], side: str) -> tuple[Tensor, Tensor]:
    ones = [torch.ones_like(ids, dtype=torch.bool) for ids in sequences]
    ids, mask = (pad_sequence(list(some), batch_first=True, padding_side=side) for some in (sequences, ones))
    return ids, mask


def predicting_states(model: Any, rollouts: Rollouts, packed: bool) -> tuple[Tensor, Tensor]:
    """Final hidden states, (N, D), and the index of the state that predicts each response token, (B, T), -1 outside it.

    If ``packed``, without padding and with every distinct prefix once, by a model prepared by `add_packed_forward`;
    else as padded rows.
    """
    device = model.get_input_embeddings().weight.device
    prompts, prompt_mask, ids, mask = (part.to(device) for part in rollouts)
    if packed:
        layout = pack(prompts, prompt_mask, ids, mask)
        return model(packed=layout), layout.where
    sequences = {"input_ids": torch.cat([prompts, ids], 1), "attention_mask": torch.cat([prompt_mask, mask], 1).long()}
    hidden = model.get_decoder()(**sequences, use_cache=False).last_hidden_state[:, prompts.size(1) - 1 : -1]
    where = torch.arange(mask.numel(), device=device).view_as(mask).masked_fill(~mask, -1)
    return hidden.flatten(0, 1), where


def read_groups(
    model: Any, rollouts: Rollouts, group_size: int, temperature: float, packed: bool
) -> tuple[TokenStatistics, Tensor, Tensor]:
    """The statistics of every response token, every group score included, and :func:`predicting_states`."""
    states, where = predicting_states(model, rollouts, packed)
    ids = rollouts.completion_ids.to(where.device)
    options: dict[str, Any] = {"scores": (*GROUP_SCORES, *UNSAMPLED_SCORES), "temperature": temperature}
    return token_statistics(states, lm_head(model), where, ids, group_size=group_size, **options), states, where


def token_rows(rollouts: Rollouts, statistics: TokenStatistics, rewards: Tensor, advantages: Tensor) -> pd.DataFrame:
    """All response tokens as `records.TOKENS`, made by the training's own log; no rule has dropped any of them."""
    batch = rollouts._asdict() | {"rewards": rewards, "advantages": advantages}
    log = TrainingLog(statistics.group_size, sample_every=1, sample_groups=len(rewards) // statistics.group_size)
    unknown = torch.full_like(rewards, torch.nan)
    log.rollouts(STEP, batch, statistics, rollouts.completion_mask, unknown, selecting=False)
    return log.tokens()
