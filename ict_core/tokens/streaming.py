"""Token statistics of whole groups, streamed over the LM head so that G x T x V is never held."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ict_core.tokens.distributions import (
    DIVERGENCES,
    RESOLUTION,
    leave_one_out_mean,
    position_mean,
    renyi2_entropy,
    shannon_entropy,
)

_MOST_PROBABILITIES = 2**27  # half a GiB in float32; some five tensors of that size are held at a time

PAPER = "js"
"""u, the score of ICT: the Jensen-Shannon divergence from the mean of the live rollouts at the position."""

SCORES = {
    "js": ("js", "position"),
    "js_leave_one_out": ("js", "leave-one-out"),
    "js_sequence": ("js", "sequence"),
    "js_group": ("js", "group"),
    "kl": ("kl", "position"),
    "tv": ("tv", "position"),
    "wasserstein": ("wasserstein", "position"),
}
"""Each group score by name: the divergence, and the reference distribution that a token's own is compared with.

``position``: the mean over the group's live rollouts at the same position (the paper's). ``leave-one-out``: the same
without the rollout itself. ``sequence``: the mean over the positions of the rollout. ``group``: the mean over all
positions of all rollouts of the group.
"""


@dataclass(frozen=True)
class TokenStatistics:
    """What a selection rule may know of each response token under pi_old, each (B, T); zero outside the response.

    Attributes:
        logprob: ln p of the sampled token.
        h1: Shannon entropy, nats.
        h2: second-order Renyi entropy, nats.
        scores: the group scores that were asked for, by their name in :data:`SCORES`.
        group_size: G; groups are consecutive rows.
    """

    logprob: Tensor
    h1: Tensor
    h2: Tensor
    scores: dict[str, Tensor]
    group_size: int

    def score(self, name: str) -> Tensor:
        """What tokens can be ranked by: ``h1``, ``h2``, ``surprise`` (1 - p), or a name in :data:`SCORES`."""
        if name == "surprise":
            return -torch.expm1(self.logprob)
        return {"h1": self.h1, "h2": self.h2, **self.scores}[name]

    @classmethod
    def stacked(cls, values: Tensor, scores: Sequence[str], group_size: int) -> "TokenStatistics":
        """From (3 + len(scores), B, T), as :meth:`stack` makes it."""
        logprob, h1, h2, *rest = values.unbind(0)
        return cls(logprob, h1, h2, dict(zip(scores, rest, strict=True)), group_size)

    def stack(self) -> Tensor:
        """Log-probability, H1, H2 and the scores in their order, (3 + len(scores), B, T)."""
        return torch.stack([self.logprob, self.h1, self.h2, *self.scores.values()])


@torch.no_grad()
def token_statistics(
    hidden: Tensor,
    head: Tensor,
    token_ids: Tensor,
    mask: Tensor,
    *,
    group_size: int,
    temperature: float,
    scores: Sequence[str] = (PAPER,),
    chunk: int | None = None,
) -> TokenStatistics:
    """Statistics of every response token, from the final hidden states.

    The LM head runs over ``chunk`` (group, position) pairs at a time, a pair holding all rollouts of its group, so
    the extra memory is O(chunk * G * V). References over positions take a second pass of it and O(B * V).

    Args:
        hidden: (B, T, D), the states that predict the response tokens; groups are ``group_size`` consecutive rows.
        head: (V, D), the LM head's weight.
        token_ids: (B, T), the sampled tokens.
        mask: (B, T), True at response tokens.
        group_size: G.
        temperature: the sampling temperature; all policies are read at it.
        scores: names in :data:`SCORES`.
        chunk: pairs in one product; by default up to 256, and fewer where that would be more than 2^27 probabilities.

    Raises:
        ValueError: B is not a multiple of ``group_size``.
    """
    rows, length, width = hidden.shape
    if rows % group_size:
        raise ValueError(f"{rows} rollouts are not whole groups of {group_size}")
    groups = rows // group_size
    if chunk is None:
        chunk = min(256, max(1, _MOST_PROBABILITIES // (group_size * head.size(0))))

    def by_pair(x: Tensor) -> Tensor:  # (B, T, ...) -> (groups * T, G, ...)
        return x.view(groups, group_size, length, *x.shape[2:]).transpose(1, 2).flatten(0, 1)

    states, ids, live = by_pair(hidden), by_pair(token_ids), by_pair(mask.bool())
    pairs = live.any(-1).nonzero().squeeze(-1)

    def chunks() -> Iterator[tuple[Tensor, Tensor]]:  # (pairs, their log-probabilities)
        for some in pairs.split(chunk):
            yield some, torch.log_softmax((states[some] @ head.T).float() / temperature, dim=-1)

    overall: Tensor | None = None  # sum of each rollout's distributions over its positions, (groups, G, V)
    if {"sequence", "group"} & {SCORES[name][1] for name in scores}:
        overall = torch.zeros(groups, group_size, head.size(0), device=hidden.device)
        for some, log_probs in chunks():
            overall.index_add_(0, some // length, log_probs.exp() * live[some].unsqueeze(-1))
    lengths = mask.view(groups, group_size, length).sum(-1).clamp(min=1)[..., None]

    result = torch.zeros(3 + len(scores), *live.shape, dtype=torch.float32, device=hidden.device)
    for some, log_probs in chunks():
        result[0, some] = log_probs.gather(-1, ids[some].unsqueeze(-1)).squeeze(-1)
        result[1, some] = shannon_entropy(log_probs)
        result[2, some] = renyi2_entropy(log_probs)
        probs = log_probs.exp() * live[some].unsqueeze(-1)
        for row, name in enumerate(scores, start=3):
            divergence, reference = SCORES[name]
            if overall is None or reference in ("position", "leave-one-out"):
                q = (position_mean if reference == "position" else leave_one_out_mean)(probs, live[some])
            elif reference == "sequence":
                q = (overall / lengths)[some // length]
            else:
                q = (overall.sum(1, keepdim=True) / lengths.sum(1, keepdim=True))[some // length]
            result[row, some] = _resolved(divergence, DIVERGENCES[divergence](probs, q), head.size(0))
    result *= live
    back = result.view(-1, groups, length, group_size).transpose(2, 3).reshape(-1, rows, length)
    return TokenStatistics.stacked(back, scores, group_size)


def _resolved(divergence: str, values: Tensor, vocabulary: int) -> Tensor:
    """Without what is rounding alone, and within the bound of the Jensen-Shannon divergence."""
    least = RESOLUTION * (vocabulary if divergence == "wasserstein" else 1)
    values = values.masked_fill(values < least, 0.0)
    return values.clamp(max=math.log(2)) if divergence == "js" else values
