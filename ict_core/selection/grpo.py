"""GRPO: every response token is trained (arXiv:2402.03300)."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch


def grpo(batch: TokenBatch, generator: torch.Generator) -> Tensor:
    """M = 1 at every response token."""
    return batch.mask.clone()
