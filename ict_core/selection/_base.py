"""The protocol of a selection rule and the registry that names it."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from ict_core.tokens.streaming import TokenStatistics


@dataclass(frozen=True)
class TokenBatch:
    """What is known of the B responses of an optimisation batch, of T tokens at most, when tokens are chosen."""

    statistics: TokenStatistics  # of each response token under pi_old, (B, T)
    advantages: Tensor  # (B,)
    mask: Tensor  # (B, T) bool, True at response tokens


Selector = Callable[..., Tensor]
"""A free function that says which response tokens are trained: ``rule(batch, generator, **parameters) -> kept``.

    batch       a :class:`TokenBatch`
    generator   torch.Generator, the only source of randomness
    parameters  the rule's own keywords, from its file in ``configs/methods``; a group score is computed where the
                keyword ``score`` names it
    kept        (B, T) bool, True where a token is trained; never True outside the batch's mask
"""

registered: dict[str, Selector] = {}


def register(name: str) -> Callable[[Selector], Selector]:
    """Make a rule available as ``selector: name``."""

    def add(rule: Selector) -> Selector:
        if name in registered:
            raise ValueError(f"two selection rules are named {name!r}")
        registered[name] = rule
        return rule

    return add


def top_fraction(score: Tensor, mask: Tensor, fraction: Fraction) -> Tensor:
    """The ceil(fraction * T_i) highest-scoring response tokens of each row, ties to the earlier position; (B, T) bool.

    ``mask``, (B, T), is True at the T_i response tokens of a row. The fraction is exact: 7 % of 100 tokens is 7.
    """
    lengths = mask.sum(-1, keepdim=True)
    kept = -(-lengths * fraction.numerator // fraction.denominator)
    order = score.masked_fill(~mask, -torch.inf).argsort(dim=-1, descending=True, stable=True)
    positions = torch.arange(score.size(-1), device=score.device).expand_as(order)
    rank = torch.empty_like(order).scatter_(-1, order, positions)
    return (rank < kept) & mask


def response_quantile(values: Tensor, mask: Tensor, q: float) -> Tensor:
    """The ``q`` quantile over all response tokens of the batch, linearly interpolated, in float64 (a scalar)."""
    return torch.quantile(values[mask].double(), q)
