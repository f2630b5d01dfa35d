"""Token statistics of whole groups, streamed over the LM head so that G x T x V values are never in memory.

The unit of work is a pair of a group and a position, with the live rollouts there. Some of them may share a state.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ict_core.store.token_scores import GROUP_SCORES, POLICY_STATISTICS, UNSAMPLED_SCORES
from ict_core.tokens.distributions import (
    DIVERGENCES,
    SMALLEST_DIVERGENCE,
    alone_with_zeros,
    leave_one_out_mean,
    position_mean,
    whole_group_mean,
)

_WIDTH = {"cpu": 1024}  # vocabulary entries per tile; its logits stay in the cache, and wider tiles are slower
_WIDE = 65536  # on a GPU, where every operation has a fixed cost
_TINY = torch.finfo(torch.float32).tiny
_PROBABILITIES_AT_ONCE = 2**21  # 8 MiB in float32; some five tensors of that size are held at a time

_SCORES = GROUP_SCORES | UNSAMPLED_SCORES
# reference distributions at one position, from the probabilities there and the live rollouts
_AT_POSITION: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "position": position_mean,
    "leave-one-out": leave_one_out_mean,
    "position-zeros": functools.partial(whole_group_mean, uniform=False),
    "position-uniform": functools.partial(whole_group_mean, uniform=True),
}

PAPER = "js"
"""u, the score of ICT: the Jensen-Shannon divergence from the mean of the live rollouts at the position."""


class Head(NamedTuple):
    """The LM head of a causal model: logits = cap(scale * states @ weight.T).

    cap(z) is softcap * tanh(z / softcap), or z without a softcap; the states are the final hidden ones.
    """

    weight: Tensor  # (V, D)
    scale: float = 1.0
    softcap: float | None = None

    def logits(self, states: Tensor) -> Tensor:
        """(n, D) -> (n, V)."""
        z = states @ self.weight.T
        if self.scale != 1.0:
            z = z * self.scale
        return z if self.softcap is None else self.softcap * torch.tanh(z / self.softcap)


@dataclass(frozen=True)
class TokenStatistics:
    """Statistics of each response token under pi_old for selection rules; zero outside the response.

    From the LM head to the mask the statistics are this one tensor, which is split, joined and sent between ranks as a
    whole. A statistic, (B, T), is read by its name.
    """

    values: Tensor  # (K, B, T), one plane per statistic
    names: tuple[str, ...]  # the K names, out of those in `store.token_scores`
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
        """A quantity to rank tokens by: ``surprise`` (1 - p), or a statistic by its name."""
        return -torch.expm1(self.logprob) if name == "surprise" else self[name]

    @classmethod
    def from_columns(cls, columns: Mapping[str, Tensor], group_size: int) -> "TokenStatistics":
        """Build them from the statistics, (B, T), by name."""
        return cls(torch.stack([*columns.values()]), tuple(columns), group_size)


@torch.no_grad()
def token_statistics(
    states: Tensor,
    head: Head,
    where: Tensor,
    token_ids: Tensor,
    *,
    group_size: int,
    temperature: float,
    scores: Sequence[str] = (PAPER,),
) -> TokenStatistics:
    """Statistics of every response token, from the final hidden states.

    The LM head runs once per state, on :func:`states_at_once` states at a time, with all states of a pair together, so
    the extra memory is O(states at once * V). References over positions take a second pass of the head and O(G * V).
    States and head are read in autocast's dtype if it is on, else in their own; the results are float32.

    Args:
        states: (N, D), those that predict the response tokens. Rollouts of a group may share one at a position.
        head: the LM head, (V, D).
        where: (B, T), the row of ``states`` that predicts the token of ``token_ids``, (B, T); -1 outside the response.
        temperature: the sampling temperature, at which all policies are read.
        scores: names in `ict_core.store.token_scores.GROUP_SCORES` and `UNSAMPLED_SCORES`.

    Raises:
        ValueError: B is not a multiple of ``group_size``.
    """
    rows, names = len(where), (*POLICY_STATISTICS, *scores)
    if rows % group_size:
        raise ValueError(f"{rows} rollouts are not whole groups of {group_size}")
    weight = head.weight
    dtype = torch.promote_types(states.dtype, weight.dtype)
    device = weight.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    max_states = states_at_once(weight)
    with torch.autocast(device, enabled=False):
        softmax = TiledSoftmax(head, min(max(max_states, group_size), where.numel()), temperature, dtype)
        # references over positions need (G, V) probabilities per group, so only some groups are processed at a time
        in_memory = group_size * max(1, _PROBABILITIES_AT_ONCE // (group_size * len(weight)))
        at_once = in_memory if _over_positions(scores) else rows
        parts = [
            _group_statistics(softmax, states, part, ids, group_size, names, max_states)
            for part, ids in zip(where.split(at_once), token_ids.split(at_once), strict=True)
        ]
    return TokenStatistics(torch.cat(parts, 1), names, group_size)


def states_at_once(head: Tensor) -> int:
    """States in one product: many for a small vocabulary, fewer for a large one, in 128 MiB; on a GPU in 512 MiB."""
    if head.device.type == "cpu":
        return max(1, min(2**25, max(2**18, 128 * head.size(0))) // head.size(0))
    return max(1, 2**27 // head.size(0))


class TiledSoftmax:
    """softmax(logits / temperature) of some states at a time, in reused memory.

    A tile of logits goes through a whole pass before the next one is computed. Powers of two are kept,
    2^(z log2(e) / temperature - m) with m the largest exponent of state and tile, and for each state and tile the
    factor that makes them probabilities. So nothing is read again to be normalised. Tiles are summed in float64, in
    their order: stored statistics depend on it to the last bit. ``head`` is (V, D); ``most`` is the largest number of
    states at a time; ``dtype`` is that of the product's factors. Products and sums within a tile are in float32.
    """

    def __init__(self, head: Head, most: int, temperature: float, dtype: torch.dtype) -> None:
        self.vocabulary, device = head.weight.size(0), head.weight.device
        self._width = min(_WIDTH.get(device.type, _WIDE), self.vocabulary)
        self._heads = head.weight.split(self._width)
        cap, exponent = head.softcap, math.log2(math.e) / temperature
        self._scale = head.scale * exponent if cap is None else head.scale / cap
        self._cap = None if cap is None else cap * exponent
        self._dtype, self._most = dtype, most
        self._scratch = torch.empty(2, most * self._width, device=device)
        self._casts: dict[torch.dtype, Tensor] = {}
        self._memory: Tensor | None = None
        self._powers: list[Tensor] = []
        self._factors = torch.empty(0)

    def read(self, states: Tensor, rows: Tensor, token_ids: Tensor, *, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
        """ln p of some tokens, (n,), and H1 and H2 of the states, (R, D) -> (R,), in nats; float64.

        ``rows``, (n,), has each token's state number; ``keep``: whether the other methods will be called for them.
        """
        states = states.to(self._dtype)
        if not (states.is_cuda and self._dtype.itemsize == 2):  # a CPU would round the product to half precision
            states = states.float()
        # in the order of the tiles, so that the tokens of each tile are one slice
        order = token_ids.argsort()
        rows, columns = rows[order], token_ids[order]
        tiles = columns // self._width
        widths = (self.vocabulary - tiles * self._width).clamp(max=self._width)
        cells = (rows * widths + columns % self._width).split(tiles.bincount(minlength=len(self._heads)).tolist())
        exponents = []
        sums = torch.empty(len(self._heads), 4, len(states), device=states.device)
        self._powers = self._kept(len(states)) if keep else []
        for number, (head, (largest, total, square, moment)) in enumerate(zip(self._heads, sums, strict=True)):
            z = self._part(0, len(states), len(head))
            self._product(states, head, z)
            torch.amax(z, -1, out=largest)
            z.sub_(largest.unsqueeze(-1))
            exponents.append(z.flatten()[cells[number]])
            # exp2 takes half the time of exp; the products below overwrite z
            powers = torch.exp2(z, out=self._powers[number] if keep else self._part(1, len(states), len(head)))
            torch.sum(powers, -1, out=total)
            torch.linalg.vector_norm(powers, dim=-1, out=square)  # root of the sum of squares, in one pass, no copy
            torch.sum(z.mul_(powers), -1, out=moment)
        largest, total, square, moment = sums.double().unbind(1)
        shift = largest.amax(0)
        # the sum is at least 1; log1p, because float64's other logarithms differ between CPU vendors
        exponent = largest - shift - torch.log1p((total * torch.exp2(largest - shift)).sum(0) - 1) / math.log(2)
        factors = torch.exp2(exponent)
        self._factors = factors.float().unsqueeze(-1)
        h1 = -math.log(2) * (factors * (moment + exponent * total)).sum(0)
        h2 = -torch.log1p((factors * square).square().sum(0) - 1)
        log_probs = torch.empty_like(columns, dtype=torch.float64)
        log_probs[order] = math.log(2) * (torch.cat(exponents) + exponent[tiles, rows])
        return log_probs.clamp_(max=0.0), h1.clamp_(min=0.0), h2.clamp_(min=0.0)

    def jensen_shannon(self, weights: Tensor, h1: Tensor) -> Tensor:
        """JS of each distribution that was read last and its pair's weighted mean, (P, k), nats, float64.

        With t = p + q it is ln 2 - (sum t ln t + H1(p) + H1(q)) / 2: one logarithm per probability. The k states of
        each pair have ``weights``, (P, k), that sum to 1 in the pair, and Shannon entropies ``h1``, (P, k).
        """
        sums = torch.empty(len(self._powers), *weights.shape, device=weights.device)
        sums_q = torch.empty(len(self._powers), len(weights), 1, device=weights.device)
        for number, (powers, factors) in enumerate(zip(self._powers, self._factors, strict=True)):
            t, log_t = (self._part(part, *powers.shape).unflatten(0, weights.shape) for part in (0, 1))
            powers, factors = powers.unflatten(0, weights.shape), factors.unflatten(0, weights.shape)
            # a weighted sum over rows is faster by bmm; _TINY keeps the logarithm of a 0 finite, and 0 times it 0
            q = torch.bmm((factors.squeeze(-1) * weights).unsqueeze(1), powers).add_(_TINY)
            torch.addcmul(q, powers, factors, out=t)
            torch.sum(torch.log(t, out=log_t).mul_(t), -1, out=sums[number])
            torch.sum(q.log().mul_(q), -1, out=sums_q[number])
        t_log_t, q_log_q = (x.double().sum(0) for x in (sums, sums_q))
        return math.log(2) - (t_log_t + h1 - q_log_q) / 2

    def probabilities(self, some: slice) -> Tensor:
        """The probabilities, (R, V), of some of the states that were read last."""
        return torch.cat([p[some] * f[some] for p, f in zip(self._powers, self._factors, strict=True)], dim=-1)

    def _part(self, number: int, count: int, width: int) -> Tensor:
        return self._scratch[number, : count * width].view(count, width)

    def _kept(self, count: int) -> list[Tensor]:
        if self._memory is None:
            self._memory = torch.empty(self._most * self.vocabulary, device=self._scratch.device)
        return [tile.view(count, -1) for tile in self._memory[: count * self.vocabulary].split(count * self._width)]

    def _product(self, states: Tensor, head: Tensor, out: Tensor) -> None:
        head = self._cast(self._cast(head, self._dtype), states.dtype)
        if states.dtype == torch.float32:
            out.addmm_(states, head.T, beta=0, alpha=self._scale)
        else:
            torch.mm(states, head.T, out_dtype=torch.float32, out=out)
            out.mul_(self._scale)
        if self._cap is not None:
            out.tanh_().mul_(self._cap)

    def _cast(self, head: Tensor, dtype: torch.dtype) -> Tensor:
        """A tile in ``dtype``, in reused memory: tiles allocated one by one may never fit the gap of the last one."""
        if head.dtype == dtype:
            return head
        if dtype not in self._casts:
            self._casts[dtype] = torch.empty_like(self._heads[0], dtype=dtype)
        return self._casts[dtype][: len(head)].copy_(head)


@dataclass(frozen=True)
class _Chunk:
    """P pairs of k distinct states each."""

    pairs: Tensor  # (P,), their numbers
    states: Tensor  # (P, k), their states
    weights: Tensor  # (P, k), the share of a pair's live rollouts that use the state
    used: Tensor  # (P, G), the state that each rollout uses, numbered in the chunk from 0; -1 where it has ended


def _chunks(where: Tensor, most: int) -> Iterator[_Chunk]:
    """All pairs with a token, in chunks of about equal length, of up to ``most`` states but at least one pair.

    ``where``, (pairs, G), is the state that each rollout uses; -1 where it has ended.
    """
    live = where >= 0
    # (pairs, G, G), all positions at once: G is small, and a loop over them would be slow
    same = where.unsqueeze(-1) == where.unsqueeze(-2)
    first = same.int().argmax(-1)  # the first rollout of those that share a state
    distinct = live & (first == torch.arange(where.size(-1), device=where.device))
    slots = (distinct.cumsum(-1) - 1).gather(-1, first)
    shares = same.sum(-1) / live.sum(-1, keepdim=True)
    sizes = distinct.sum(-1)
    for size in sizes[sizes > 0].unique().tolist():
        equal = (sizes == size).nonzero().squeeze(-1)
        for pairs in equal.tensor_split(-(-len(equal) // max(1, most // size))):
            chosen = distinct[pairs]
            states, weights = where[pairs][chosen].view(-1, size), shares[pairs][chosen].view(-1, size)
            numbers = torch.arange(len(pairs), device=where.device).unsqueeze(-1) * size + slots[pairs]
            yield _Chunk(pairs, states, weights, numbers.where(live[pairs], -1))


def _group_statistics(
    softmax: TiledSoftmax,
    states: Tensor,
    where: Tensor,
    token_ids: Tensor,
    group_size: int,
    names: tuple[str, ...],
    most: int,
) -> Tensor:
    """The values of :func:`token_statistics`; ``most`` states go through the head at a time."""
    rows, length = where.shape

    def by_pair(x: Tensor) -> Tensor:  # (B, T) -> (groups * T, G)
        return x.view(-1, group_size, length).transpose(1, 2).flatten(0, 1)

    uses, ids = by_pair(where), by_pair(token_ids)
    scores = names[len(POLICY_STATISTICS) :]
    others = [name for name in scores if name != PAPER]
    overall = _overall(softmax, states, uses, length, most) if _over_positions(scores) else None
    result = torch.zeros(len(names), *uses.shape, device=states.device)
    for chunk in _chunks(uses, most):
        live, used = chunk.used >= 0, chunk.used.clamp(min=0)
        several = chunk.states.size(1) > 1
        # if a pair has only one state, its divergence is 0, and no probabilities need be kept for it
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
    return result.view(-1, rows // group_size, length, group_size).transpose(2, 3).reshape(-1, rows, length)


def _over_positions(scores: Sequence[str]) -> bool:
    return any(_SCORES[name].reference not in _AT_POSITION for name in scores)


def _overall(softmax: TiledSoftmax, states: Tensor, uses: Tensor, length: int, most: int) -> tuple[Tensor, Tensor]:
    """The mean distribution of each rollout over its positions, (groups, G, V), and of each group, (groups, 1, V)."""
    total = torch.zeros(len(uses) // length, uses.size(1), softmax.vocabulary, device=states.device)
    for chunk in _chunks(uses, most):
        softmax.read(states[chunk.states.flatten()], chunk.pairs[:0], chunk.pairs[:0], keep=True)
        for pairs, _, probs in _probabilities(softmax, chunk):
            total.index_add_(0, pairs // length, probs)
    lengths = (uses >= 0).view(len(total), length, -1).sum(1).unsqueeze(-1)
    return total / lengths.clamp(min=1), total.sum(1, keepdim=True) / lengths.sum(1, keepdim=True).clamp(min=1)


def _probabilities(softmax: TiledSoftmax, chunk: _Chunk) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Some pairs at a time of the chunk read last: numbers (n,), live (n, G), probabilities (n, G, V), 0 if ended."""
    size = chunk.states.size(1)
    at_once = max(1, _PROBABILITIES_AT_ONCE // (chunk.used.size(1) * softmax.vocabulary))
    for number, (pairs, used) in enumerate(zip(chunk.pairs.split(at_once), chunk.used.split(at_once), strict=True)):
        start = number * at_once * size
        probs = softmax.probabilities(slice(start, start + len(pairs) * size))
        yield pairs, used >= 0, probs[(used - start).clamp(min=0)] * (used >= 0).unsqueeze(-1)


def _divergences(
    softmax: TiledSoftmax, chunk: _Chunk, names: Sequence[str], overall: tuple[Tensor, Tensor] | None, length: int
) -> dict[str, Tensor]:
    """The scores, (P, G), by name, of the chunk read last."""
    parts: dict[str, list[Tensor]] = {name: [] for name in names}
    for pairs, live, probs in _probabilities(softmax, chunk):
        for name in names:
            divergence, reference = _SCORES[name]
            if reference in _AT_POSITION:
                q = _AT_POSITION[reference](probs, live)
            else:
                assert overall is not None
                q = overall[reference == "group"][pairs // length]
            values = _resolved(divergence, DIVERGENCES[divergence](probs, q), softmax.vocabulary)
            if reference == "position-zeros":  # with one live rollout it depends on G alone: rounding must not rank it
                values = values.where(live.sum(-1, keepdim=True) > 1, alone_with_zeros(live.size(-1)))
            parts[name].append(values)
    return {name: torch.cat(part) for name, part in parts.items()}


def _resolved(divergence: str, values: Tensor, vocabulary: int) -> Tensor:
    """The values with mere rounding set to 0, and within the bound of the Jensen-Shannon divergence."""
    threshold = SMALLEST_DIVERGENCE * (vocabulary if divergence == "wasserstein" else 1)
    values = values.masked_fill(values < threshold, 0.0)
    return values.clamp(max=math.log(2)) if divergence == "js" else values
