"""The deciding tokens, which only the generator of the problems knows: no model and no published rule does."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch


def oracle_decisions(batch: TokenBatch, generator: torch.Generator) -> Tensor:
    """M = 1 at the tokens that decide whether the response is right (``problems.mini.decision_tokens``)."""
    if batch.decisions is None:
        raise ValueError("oracle-decisions needs the batch's decisions, which generated problems alone have")
    return batch.mask & batch.decisions
