"""(group, position) pairs whose rollouts may share states, in chunks of equally many distinct states a pair."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Chunk:
    """P pairs of k distinct states.

    Attributes:
        pairs: (P,), their numbers.
        states: (P, k), their states.
        weights: (P, k), the share of a pair's live rollouts that use the state.
        used: (P, G), the state that each rollout uses, counted in the chunk from 0 to P k - 1; -1 where it is over.
    """

    pairs: Tensor
    states: Tensor
    weights: Tensor
    used: Tensor


def chunks(where: Tensor, most: int) -> Iterator[Chunk]:
    """All pairs with a token, in chunks of about equal length, up to ``most`` states but at least one pair.

    Args:
        where: (pairs, G), the state that each rollout uses; -1 where it is over.
        most: states of a chunk.
    """
    live = where >= 0
    # (pairs, G, G), all positions at once: G is small, and a loop over them would be slow
    same = where.unsqueeze(-1) == where.unsqueeze(-2)
    first = same.int().argmax(-1)  # the rollout that stands for all that share its state
    distinct = live & (first == torch.arange(where.size(-1), device=where.device))
    slots = (distinct.cumsum(-1) - 1).gather(-1, first)
    shares = same.sum(-1) / live.sum(-1, keepdim=True)
    sizes = distinct.sum(-1)
    for size in sizes.unique().tolist():
        equal = (sizes == size).nonzero().squeeze(-1)
        for pairs in equal.tensor_split(-(-len(equal) // max(1, most // size))) if size else ():
            here = distinct[pairs]
            states, weights = (x[pairs][here].view(-1, size) for x in (where, shares))
            numbers = torch.arange(len(pairs), device=where.device).unsqueeze(-1) * size + slots[pairs]
            yield Chunk(pairs, states, weights, numbers.where(live[pairs], -1))
