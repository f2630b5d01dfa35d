"""GRPO: every response token is trained (arXiv:2402.03300)."""

from typing import Any

import torch
from torch import Tensor

from ict_core.selection.base import register
from ict_core.tokens.streaming import TokenStatistics


@register("grpo")
def all_tokens(
    tokens: TokenStatistics, advantages: Tensor, mask: Tensor, generator: torch.Generator, **parameters: Any
) -> Tensor:
    """M = 1 at every response token."""
    return mask.clone()
