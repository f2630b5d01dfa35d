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
)
from ict_core.tokens.pairs import Chunk, chunks
from ict_core.tokens.softmax import TiledSoftmax

_PROBABILITIES_AT_ONCE = 2**21  # 8 MiB in float32; some five tensors of that size are held at a time

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
    states: Tensor,
    head: Tensor,
    where: Tensor,
    token_ids: Tensor,
    *,
    group_size: int,
    temperature: float,
    scores: Sequence[str] = (PAPER,),
    chunk: int | None = None,
) -> TokenStatistics:
    """Statistics of every response token, from the final hidden states.

    The LM head runs once a state, over ``chunk`` states at a time, with all states of a (group, position) pair
    together; so the extra memory is O(chunk * V). References over positions take a second pass of it and O(G * V).
    States and head enter it in autocast's type where that is on, else in their own; the rest is float32.

    Args:
        states: (N, D), the states that predict the response tokens. Rollouts of a group may share one at a position.
        head: (V, D), the LM head's weight.
        where: (B, T), the row of ``states`` that predicts the token; -1 outside the response. Groups are ``group_size``
            consecutive rows.
        token_ids: (B, T), the sampled tokens.
        group_size: G.
        temperature: the sampling temperature; all policies are read at it.
        scores: names in :data:`SCORES`.
        chunk: states in one product, at least those of one pair; by default what suits vocabulary and device.

    Raises:
        ValueError: B is not a multiple of ``group_size``.
    """
    rows, length = where.shape
    if rows % group_size:
        raise ValueError(f"{rows} rollouts are not whole groups of {group_size}")
    dtype = torch.promote_types(states.dtype, head.dtype)
    device = head.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    chunk = chunk or _chunk(head)
    with torch.autocast(device, enabled=False):
        softmax = TiledSoftmax(head, min(max(chunk, group_size), where.numel()), temperature, dtype)
        whole = group_size * max(1, _PROBABILITIES_AT_ONCE // (group_size * len(head)))
        at_once = whole if _over_positions(scores) else rows
        parts = [
            _of_groups(softmax, states, some, ids, group_size, scores, chunk)
            for some, ids in zip(where.split(at_once), token_ids.split(at_once), strict=True)
        ]
    return TokenStatistics.stacked(torch.cat(parts, 1), scores, group_size)


def _of_groups(
    softmax: TiledSoftmax,
    states: Tensor,
    where: Tensor,
    token_ids: Tensor,
    group_size: int,
    scores: Sequence[str],
    chunk: int,
) -> Tensor:
    """(3 + len(scores), B, T), see :func:`token_statistics`."""
    rows, length = where.shape

    def by_pair(x: Tensor) -> Tensor:  # (B, T) -> (groups * T, G)
        return x.view(-1, group_size, length).transpose(1, 2).flatten(0, 1)

    uses, ids = by_pair(where), by_pair(token_ids)
    others = [name for name in scores if name != "js"]
    overall = _overall(softmax, states, uses, length, chunk) if _over_positions(scores) else None
    result = torch.zeros(3 + len(scores), *uses.shape, device=states.device)
    for some in chunks(uses, chunk):
        live, used = some.used >= 0, some.used.clamp(min=0)
        several = some.states.size(1) > 1
        keep = bool(others) or ("js" in scores and several)
        log_probs, h1, h2 = softmax.read(states[some.states.flatten()], used[live], ids[some.pairs][live], keep=keep)
        found = result.new_zeros(len(result), *used.shape)
        found[0, live] = log_probs.float()
        found[1], found[2] = h1[used], h2[used]
        if "js" in scores and several:
            js = softmax.jensen_shannon(some.weights, h1.view_as(some.weights)).flatten()
            found[3 + scores.index("js")] = _resolved("js", js, softmax.vocabulary)[used]
        if others:
            found[[3 + scores.index(name) for name in others]] = _divergences(softmax, some, others, overall, length)
        result[:, some.pairs] = found * live
    return result.view(-1, rows // group_size, length, group_size).transpose(2, 3).reshape(-1, rows, length)


def _over_positions(scores: Sequence[str]) -> bool:
    return any(SCORES[name][1] in ("sequence", "group") for name in scores)


def _overall(softmax: TiledSoftmax, states: Tensor, uses: Tensor, length: int, chunk: int) -> tuple[Tensor, Tensor]:
    """The mean of each rollout's distributions over its positions, and of all of its group: (groups, G or 1, V)."""
    total = torch.zeros(len(uses) // length, uses.size(1), softmax.vocabulary, device=states.device)
    for some in chunks(uses, chunk):
        softmax.read(states[some.states.flatten()], some.pairs[:0], some.pairs[:0], keep=True)
        for pairs, _, probs in _probabilities(softmax, some):
            total.index_add_(0, pairs // length, probs)
    lengths = (uses >= 0).view(len(total), length, -1).sum(1).unsqueeze(-1)
    return total / lengths.clamp(min=1), total.sum(1, keepdim=True) / lengths.sum(1, keepdim=True).clamp(min=1)


def _probabilities(softmax: TiledSoftmax, some: Chunk) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Of some pairs at a time of the chunk read last: numbers (n,), who is live (n, G), else zero (n, G, V)."""
    size = some.states.size(1)
    at_once = max(1, _PROBABILITIES_AT_ONCE // (some.used.size(1) * softmax.vocabulary))
    for number, (pairs, used) in enumerate(zip(some.pairs.split(at_once), some.used.split(at_once), strict=True)):
        start = number * at_once * size
        probs = softmax.probabilities(slice(start, start + len(pairs) * size))
        yield pairs, used >= 0, probs[(used - start).clamp(min=0)] * (used >= 0).unsqueeze(-1)


def _divergences(
    softmax: TiledSoftmax, some: Chunk, names: Sequence[str], overall: tuple[Tensor, Tensor] | None, length: int
) -> Tensor:
    """(scores, P, G) of the chunk read last."""
    found = []
    for pairs, live, probs in _probabilities(softmax, some):
        values = probs.new_zeros(len(names), *live.shape)
        for row, name in enumerate(names):
            divergence, reference = SCORES[name]
            if reference in ("position", "leave-one-out"):
                q = (position_mean if reference == "position" else leave_one_out_mean)(probs, live)
            else:
                assert overall is not None
                q = overall[reference == "group"][pairs // length]
            values[row] = _resolved(divergence, DIVERGENCES[divergence](probs, q), softmax.vocabulary)
        found.append(values)
    return torch.cat(found, dim=1)


def _chunk(head: Tensor) -> int:
    """States in one product: a tile of many that are narrow, fewer that are wide, in 128 MiB; on a GPU in 512 MiB."""
    if head.device.type == "cpu":
        return max(1, min(2**25, max(2**18, 128 * head.size(0))) // head.size(0))
    return max(1, 2**27 // head.size(0))


def _resolved(divergence: str, values: Tensor, vocabulary: int) -> Tensor:
    """Without what is rounding alone, and within the bound of the Jensen-Shannon divergence."""
    least = RESOLUTION * (vocabulary if divergence == "wasserstein" else 1)
    values = values.masked_fill(values < least, 0.0)
    return values.clamp(max=math.log(2)) if divergence == "js" else values
