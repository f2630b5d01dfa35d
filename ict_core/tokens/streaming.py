"""Token statistics of whole groups, streamed over the LM head so that G x T x V is never held.

The unit of work is a pair: a group and a position, with the live rollouts there, some of which may share a state.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ict_core.store import GROUP_SCORES, POLICY_STATISTICS
from ict_core.tokens._distributions import DIVERGENCES, SMALLEST_DIVERGENCE, leave_one_out_mean, position_mean
from ict_core.tokens._softmax import TiledSoftmax

_PROBABILITIES_AT_ONCE = 2**21  # 8 MiB in float32; some five tensors of that size are held at a time

PAPER = "js"
"""u, the score of ICT: the Jensen-Shannon divergence from the mean of the live rollouts at the position."""


@dataclass(frozen=True)
class TokenStatistics:
    """What a selection rule may know of each response token under pi_old; zero outside the response.

    From the LM head to the mask the statistics are this one tensor, which is cut, joined and sent between ranks as it
    is. A statistic is read by its name, (B, T).
    """

    values: Tensor  # (K, B, T), one plane a statistic
    names: tuple[str, ...]  # of the K: those of `store.token_scores.STATISTICS` that were asked for
    group_size: int  # G; groups are consecutive rows

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.names:
            raise KeyError(name)
        return self.values[self.names.index(name)]

    @property
    def logprob(self) -> Tensor:
        """ln p of the sampled token."""
        return self["logprob"]

    @property
    def h1(self) -> Tensor:
        """Shannon entropy, nats."""
        return self["h1"]

    @property
    def h2(self) -> Tensor:
        """Second-order Renyi entropy, nats."""
        return self["h2"]

    def score(self, name: str) -> Tensor:
        """What tokens can be ranked by: ``surprise`` (1 - p), or a statistic by its name."""
        return -torch.expm1(self.logprob) if name == "surprise" else self[name]

    @classmethod
    def from_columns(cls, columns: Mapping[str, Tensor], group_size: int) -> "TokenStatistics":
        """From each statistic, (B, T), by its name."""
        return cls(torch.stack([*columns.values()]), tuple(columns), group_size)

    @classmethod
    def joined(cls, parts: Sequence["TokenStatistics"]) -> "TokenStatistics":
        """The same statistics of all the parts' groups, in their order."""
        return replace(parts[0], values=torch.cat([part.values for part in parts], 1))


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
) -> TokenStatistics:
    """Statistics of every response token, from the final hidden states.

    The LM head runs once a state, over :func:`states_at_once`, with all states of a pair together; so the extra memory
    is O(states at once * V). References over positions take a second pass of it and O(G * V). States and head enter it
    in autocast's type where that is on, else in their own; the rest is float32.

    Args:
        states: (N, D), those that predict the response tokens. Rollouts of a group may share one at a position.
        head: (V, D), the LM head's weight.
        where: (B, T), the row of ``states`` that predicts the token; -1 outside the response. Groups are consecutive.
        token_ids: (B, T), the sampled tokens.
        temperature: of the sampling; all policies are read at it.
        scores: names in :data:`ict_core.store._token_scores.GROUP_SCORES`.

    Raises:
        ValueError: B is not a multiple of ``group_size``.
    """
    rows = len(where)
    if rows % group_size:
        raise ValueError(f"{rows} rollouts are not whole groups of {group_size}")
    dtype = torch.promote_types(states.dtype, head.dtype)
    device = head.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    most = states_at_once(head)
    with torch.autocast(device, enabled=False):
        softmax = TiledSoftmax(head, min(max(most, group_size), where.numel()), temperature, dtype)
        # references over positions hold (G, V) probabilities of each group, so few groups go at a time
        in_memory = group_size * max(1, _PROBABILITIES_AT_ONCE // (group_size * len(head)))
        at_once = in_memory if _over_positions(scores) else rows
        parts = [
            _group_statistics(softmax, states, part, ids, group_size, tuple(scores), most)
            for part, ids in zip(where.split(at_once), token_ids.split(at_once), strict=True)
        ]
    return TokenStatistics.joined(parts)


def states_at_once(head: Tensor) -> int:
    """States in one product: a tile of many that are narrow, fewer that are wide, in 128 MiB; on a GPU in 512 MiB."""
    if head.device.type == "cpu":
        return max(1, min(2**25, max(2**18, 128 * head.size(0))) // head.size(0))
    return max(1, 2**27 // head.size(0))


@dataclass(frozen=True)
class _Chunk:
    """P pairs of k distinct states each."""

    pairs: Tensor  # (P,), their numbers
    states: Tensor  # (P, k), their states
    weights: Tensor  # (P, k), the share of a pair's live rollouts that use the state
    used: (
        Tensor  # (P, G), the state that each rollout uses, counted in the chunk from 0 to P k - 1; -1 where it is over
    )


def _chunks(where: Tensor, most: int) -> Iterator[_Chunk]:
    """All pairs with a token, in chunks of about equal length, up to ``most`` states but at least one pair.

    ``where``, (pairs, G), is the state that each rollout uses; -1 where it is over.
    """
    live = where >= 0
    # (pairs, G, G), all positions at once: G is small, and a loop over them would be slow
    same = where.unsqueeze(-1) == where.unsqueeze(-2)
    first = same.int().argmax(-1)  # the rollout that stands for all that share its state
    distinct = live & (first == torch.arange(where.size(-1), device=where.device))
    slots = (distinct.cumsum(-1) - 1).gather(-1, first)
    shares = same.sum(-1) / live.sum(-1, keepdim=True)
    sizes = distinct.sum(-1)
    for size in sizes[sizes > 0].unique().tolist():
        equal = (sizes == size).nonzero().squeeze(-1)
        for pairs in equal.tensor_split(-(-len(equal) // max(1, most // size))):
            here = distinct[pairs]
            states, weights = where[pairs][here].view(-1, size), shares[pairs][here].view(-1, size)
            numbers = torch.arange(len(pairs), device=where.device).unsqueeze(-1) * size + slots[pairs]
            yield _Chunk(pairs, states, weights, numbers.where(live[pairs], -1))


def _group_statistics(
    softmax: TiledSoftmax,
    states: Tensor,
    where: Tensor,
    token_ids: Tensor,
    group_size: int,
    scores: tuple[str, ...],
    most: int,
) -> TokenStatistics:
    """See :func:`token_statistics`; ``most`` states go through the head at a time."""
    rows, length = where.shape

    def by_pair(x: Tensor) -> Tensor:  # (B, T) -> (groups * T, G)
        return x.view(-1, group_size, length).transpose(1, 2).flatten(0, 1)

    uses, ids = by_pair(where), by_pair(token_ids)
    names = (*POLICY_STATISTICS, *scores)
    others = [name for name in scores if name != PAPER]
    overall = _overall(softmax, states, uses, length, most) if _over_positions(scores) else None
    result = torch.zeros(len(names), *uses.shape, device=states.device)
    for chunk in _chunks(uses, most):
        live, used = chunk.used >= 0, chunk.used.clamp(min=0)
        several = chunk.states.size(1) > 1
        # where a pair shares one state its divergence is 0, and no probability need be kept for it
        keep = bool(others) or (PAPER in scores and several)
        log_probs, h1, h2 = softmax.read(states[chunk.states.flatten()], used[live], ids[chunk.pairs][live], keep=keep)
        planes = {name: result.new_zeros(used.shape) for name in names}
        planes["logprob"][live] = log_probs.float()
        planes |= {"h1": h1[used], "h2": h2[used]}
        if PAPER in scores and several:
            js = softmax.jensen_shannon(chunk.weights, h1.view_as(chunk.weights)).flatten()
            planes[PAPER] = _resolved("js", js, softmax.vocabulary)[used]
        if others:
            planes |= _divergences(softmax, chunk, others, overall, length)
        result[:, chunk.pairs] = torch.stack([plane.float() for plane in planes.values()]) * live
    values = result.view(-1, rows // group_size, length, group_size).transpose(2, 3).reshape(-1, rows, length)
    return TokenStatistics(values, names, group_size)


def _over_positions(scores: Sequence[str]) -> bool:
    return any(GROUP_SCORES[name].reference in ("sequence", "group") for name in scores)


def _overall(softmax: TiledSoftmax, states: Tensor, uses: Tensor, length: int, most: int) -> tuple[Tensor, Tensor]:
    """The mean of each rollout's distributions over its positions, and of all of its group: (groups, G or 1, V)."""
    total = torch.zeros(len(uses) // length, uses.size(1), softmax.vocabulary, device=states.device)
    for chunk in _chunks(uses, most):
        softmax.read(states[chunk.states.flatten()], chunk.pairs[:0], chunk.pairs[:0], keep=True)
        for pairs, _, probs in _probabilities(softmax, chunk):
            total.index_add_(0, pairs // length, probs)
    lengths = (uses >= 0).view(len(total), length, -1).sum(1).unsqueeze(-1)
    return total / lengths.clamp(min=1), total.sum(1, keepdim=True) / lengths.sum(1, keepdim=True).clamp(min=1)


def _probabilities(softmax: TiledSoftmax, chunk: _Chunk) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Of some pairs at a time of the chunk read last: numbers (n,), who is live (n, G), else zero (n, G, V)."""
    size = chunk.states.size(1)
    at_once = max(1, _PROBABILITIES_AT_ONCE // (chunk.used.size(1) * softmax.vocabulary))
    for number, (pairs, used) in enumerate(zip(chunk.pairs.split(at_once), chunk.used.split(at_once), strict=True)):
        start = number * at_once * size
        probs = softmax.probabilities(slice(start, start + len(pairs) * size))
        yield pairs, used >= 0, probs[(used - start).clamp(min=0)] * (used >= 0).unsqueeze(-1)


def _divergences(
    softmax: TiledSoftmax, chunk: _Chunk, names: Sequence[str], overall: tuple[Tensor, Tensor] | None, length: int
) -> dict[str, Tensor]:
    """(P, G) by name, of the chunk read last."""
    parts: dict[str, list[Tensor]] = {name: [] for name in names}
    for pairs, live, probs in _probabilities(softmax, chunk):
        for name in names:
            divergence, reference = GROUP_SCORES[name]
            if reference in ("position", "leave-one-out"):
                q = (position_mean if reference == "position" else leave_one_out_mean)(probs, live)
            else:
                assert overall is not None
                q = overall[reference == "group"][pairs // length]
            parts[name].append(_resolved(divergence, DIVERGENCES[divergence](probs, q), softmax.vocabulary))
    return {name: torch.cat(part) for name, part in parts.items()}


def _resolved(divergence: str, values: Tensor, vocabulary: int) -> Tensor:
    """Without what is rounding alone, and within the bound of the Jensen-Shannon divergence."""
    least = SMALLEST_DIVERGENCE * (vocabulary if divergence == "wasserstein" else 1)
    values = values.masked_fill(values < least, 0.0)
    return values.clamp(max=math.log(2)) if divergence == "js" else values
