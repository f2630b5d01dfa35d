"""The distinct selection rules among a study's variants, and what each makes of a batch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ict_core.config import Method
from ict_core.selection import SELECTORS
from ict_core.selection._base import TokenBatch


@dataclass(frozen=True)
class Rule:
    """A selector with its parameters, named after the first variant that has it."""

    name: str
    selector: str
    parameters: Mapping[str, Any]

    def kept(self, batch: TokenBatch, seed: int) -> Tensor:
        """The tokens that the training would keep of this batch, (B, T) bool; ``seed`` is of its random draws."""
        return SELECTORS[self.selector](batch, _generator(seed), **self.parameters)

    def score(self, batch: TokenBatch, seed: int) -> Tensor | None:
        """What the rule ranks tokens by, (B, T), the preferred ones highest; None where it ranks none (GRPO, STAPO)."""
        name = "h1" if self.selector == "high-entropy" else self.parameters.get("score")
        if name is None:
            return None
        if name == "random":  # the very draws of `kept`
            values = torch.rand(batch.mask.shape, generator=_generator(seed), dtype=torch.float64)
        else:
            values = batch.statistics.score(name)
        return -values if self.parameters.get("keep") == "rest" else values


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


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
