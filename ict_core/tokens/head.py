"""The LM head of a causal model: from its final hidden states to the logits."""

from typing import NamedTuple

import torch
from torch import Tensor


class Head(NamedTuple):
    """logits = cap(scale * states @ weight.T) with cap(z) = softcap * tanh(z / softcap), or z without a softcap."""

    weight: Tensor  # (V, D)
    scale: float = 1.0
    softcap: float | None = None

    def logits(self, states: Tensor) -> Tensor:
        """(n, D) -> (n, V)."""
        z = states @ self.weight.T
        if self.scale != 1.0:
            z = z * self.scale
        return z if self.softcap is None else self.softcap * torch.tanh(z / self.softcap)
