"""The protocol of a selection rule, its control, and the distinct rules among a study's variants."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from ict_core.config.methods import Control, Method
from ict_core.config.selectors import section_of
from ict_core.selection.registry import selector
from ict_core.store.token_scores import UNSAMPLED_SCORES
from ict_core.tokens.streaming import TokenStatistics


@dataclass(frozen=True)
class TokenBatch:
    """An optimisation batch as a rule sees it: B responses of at most T tokens."""

    statistics: TokenStatistics  # of each response token under pi_old, (B, T)
    advantages: Tensor  # (B,)
    mask: Tensor  # (B, T) bool, True at response tokens
    token_ids: Tensor | None = None  # (B, T), ids of the vocabulary; None where they are not known
    update: int = 0  # the number, from 0, of the update on this batch that the weights are for
    decisions: Tensor | None = None  # (B, T) bool, the deciding tokens; None where the problems' steps are not known


Selector = Callable[..., Tensor]
"""A free function that weighs the response tokens, in a module of its name: ``rule(batch, generator, **parameters)``.

    batch       a :class:`TokenBatch`
    generator   torch.Generator, the only source of randomness
    parameters  the rule's own keywords, from its file in ``configs/methods``; a group score is computed if the
                keyword ``score`` names it
    weights     (B, T), bool (whether a token is trained) or float >= 0: the factor of a token's term in the loss, and
                so of its advantage; False or 0 outside the batch's mask
"""


def ceil_share(counts: Tensor, fraction: Fraction) -> Tensor:
    """ceil(fraction * n) for whole numbers n, exactly: in int64 the product of a fraction of many digits overflows."""
    shares = [-(-n * fraction.numerator // fraction.denominator) for n in counts.flatten().tolist()]
    return torch.tensor(shares, dtype=counts.dtype, device=counts.device).view_as(counts)


def top_fraction(score: Tensor, mask: Tensor, fraction: Fraction, rows: int = 1) -> Tensor:
    """The ceil(fraction * n) highest-scoring of the n response tokens of every ``rows`` rows together; (B, T) bool.

    ``mask``, (B, T), is True at response tokens. Ties go to the earlier row, then position. The fraction is exact: 7 %
    of 100 tokens is 7.
    """
    together, shape = (-1, rows * mask.size(1)), mask.shape
    score, mask = score.reshape(together), mask.reshape(together)
    kept = ceil_share(mask.sum(-1, keepdim=True), fraction)
    order = score.masked_fill(~mask, -torch.inf).argsort(dim=-1, descending=True, stable=True)
    positions = torch.arange(score.size(-1), device=score.device).expand_as(order)
    rank = torch.empty_like(order).scatter_(-1, order, positions)
    return ((rank < kept) & mask).view(shape)


def quantile_of(values: Tensor, q: float) -> Tensor:
    """The q quantile of (N,) values, linear between neighbours. ``torch.quantile`` takes at most 2^24 values."""
    rank = q * (len(values) - 1)
    below = int(rank)
    ordered = values.sort().values
    return torch.lerp(ordered[below], ordered[min(below + 1, len(values) - 1)], rank - below)


def mean_entropy(batch: TokenBatch) -> float:
    """The mean H1 of the batch's response tokens, nats."""
    return batch.statistics.h1[batch.mask].double().mean().item()


def controlled(weights: Tensor, batch: TokenBatch, control: Control, generator: torch.Generator) -> Tensor:
    """The weights of a rule's matched control: the rule's weights on other tokens, or divided by their mean.

    ``permuted-sequence``, ``-group`` and ``-batch``: the same weights in random order among the response tokens of each
    sequence, of each group or of the batch; for a mask, as many tokens at random. With ``-same-sign`` the weights are
    permuted separately among the tokens with A > 0, A < 0 and A = 0, so that each sign keeps the total weight that it
    has by the rule. ``mean-one``: the weights are divided by their mean over the batch's response tokens, so
    that only their differences are left.

    Args:
        weights: the rule's weights, (B, T), bool or float.
    """
    mask = batch.mask
    if control == "mean-one":
        mean = weights[mask].double().mean().clamp(min=torch.finfo(torch.float32).tiny)
        return (weights / mean).float()
    rollouts = {"sequence": 1, "group": batch.statistics.group_size, "batch": len(mask)}
    compared = (-1, rollouts[control.split("-")[1]] * mask.size(1))
    drawn = torch.rand(mask.shape, generator=generator, dtype=torch.float64).to(mask.device)
    classes = torch.zeros_like(drawn)
    if control.endswith("-same-sign"):
        classes += batch.advantages.sign().unsqueeze(-1) + 1
    # Both orders have the response tokens first, by class; the second one is random within a class. The n-th token of
    # the first order gets the weight of the n-th token of the second.
    places = classes.masked_fill(~mask, 3).reshape(compared)
    first, second = places.argsort(dim=-1, stable=True), (drawn.reshape(compared) + places).argsort(dim=-1)
    moved = torch.zeros_like(weights).reshape(compared)
    return moved.scatter_(-1, first, weights.reshape(compared).gather(-1, second)).view_as(mask) * mask


def effective_share(weights: Tensor, mask: Tensor) -> float:
    """(sum w)^2 / (T sum w^2) over the T response tokens: the share that a mask keeps; 0 where all weights are 0."""
    values = weights[mask].double()
    squares = values.square().sum().item() * values.numel()
    return values.sum().item() ** 2 / squares if squares else 0.0


@dataclass(frozen=True)
class Rule:
    """A selector with its parameters, and its control if it has one, named after the first variant that has them."""

    name: str
    selector: str
    parameters: Mapping[str, Any]
    control: Control | None = None

    @classmethod
    def of(cls, name: str, method: Method) -> "Rule":
        """The rule of a variant."""
        return cls(name, method.selector, method.parameters(), method.control)

    @property
    def traits(self) -> type[Method]:
        """The section of the selector, with what is true of all its variants (``ranks_by``, ``two_updates`` ...)."""
        return section_of(self.selector)

    @property
    def sampled(self) -> bool:
        """Whether the token sample of a training (`records.TOKENS`) has everything that the rule reads."""
        return not self.traits.known_steps and self.parameters.get("score") not in UNSAMPLED_SCORES

    def weights(self, batch: TokenBatch, seed: int) -> Tensor:
        """The weights that the training would give these tokens, (B, T), bool or float; ``seed`` sets random draws."""
        if not batch.mask.any():
            return batch.mask  # nothing to choose from, as where TRL has masked every truncated response
        generator = torch.Generator().manual_seed(seed)
        weights = selector(self.selector)(batch, generator, **self.parameters)
        return weights if self.control is None else controlled(weights, batch, self.control, generator)

    def score(self, batch: TokenBatch, seed: int) -> Tensor | None:
        """The values by which the rule ranks tokens, (B, T), preferred tokens highest; None unless it ranks by one
        stored statistic, or if its weights go to other tokens (a permuted control)."""
        name = self.traits.ranks_by or self.parameters.get("score")
        if name is None or (self.control or "").startswith("permuted"):
            return None
        if name == "random":  # the same draws as in `weights`
            values = torch.rand(batch.mask.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        else:
            values = batch.statistics.score(name)
        return -values if self.parameters.get("keep") == "rest" else values


def distinct_rules(methods: Mapping[str, Method]) -> list[Rule]:
    """The distinct rules of variants, in their order.

    Two variants have the same rule if selector, parameters and control are equal. Normaliser, warm-up, group size,
    reward, surrogate, entropy bonus, advantage and replica do not change a token's weight. A variant with its own
    surrogate, bonus or advantage names a rule only if no other variant has the rule, which then comes last.
    """

    def named_last(named: tuple[str, Method]) -> bool:
        return bool(named[1].surrogate or named[1].advantage or getattr(named[1], "entropy_bonus", None))

    rules: dict[Any, Rule] = {}
    for variant, method in sorted(methods.items(), key=named_last):
        rule = Rule.of(variant, method)
        key = (rule.selector, tuple(sorted(rule.parameters.items())), rule.control)
        rules.setdefault(key, rule)
    return list(rules.values())
