"""The protocol of a selection rule, the registry that names it, and the distinct rules among a study's variants."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from ict_core.config import Method
from ict_core.selection._registry import SELECTORS
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


@dataclass(frozen=True)
class Rule:
    """A selector with its parameters, named after the first variant that has it."""

    name: str
    selector: str
    parameters: Mapping[str, Any]

    def kept(self, batch: TokenBatch, seed: int) -> Tensor:
        """The tokens that the training would keep of this batch, (B, T) bool; ``seed`` is of its random draws."""
        return SELECTORS[self.selector](batch, torch.Generator().manual_seed(seed), **self.parameters)

    def score(self, batch: TokenBatch, seed: int) -> Tensor | None:
        """What the rule ranks tokens by, (B, T), the preferred ones highest; None where it ranks none (GRPO, STAPO)."""
        name = "h1" if self.selector == "high-entropy" else self.parameters.get("score")
        if name is None:
            return None
        if name == "random":  # the very draws of `kept`
            values = torch.rand(batch.mask.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        else:
            values = batch.statistics.score(name)
        return -values if self.parameters.get("keep") == "rest" else values


def distinct_rules(methods: Mapping[str, Method]) -> list[Rule]:
    """The rules among variants, in their order.

    Two variants have one rule where selector and parameters are equal: normaliser, warm-up, group size, reward and
    replica do not say which tokens are kept.
    """
    rules: dict[Any, Rule] = {}
    for variant, method in methods.items():
        parameters = method.parameters()
        key = (method.selector, tuple(sorted(parameters.items())))
        rules.setdefault(key, Rule(variant, method.selector, parameters))
    return list(rules.values())
