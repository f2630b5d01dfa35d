"""RSI-S: tokens whose surprisal is typical of their entropy (arXiv:2606.31575)."""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch


def rsi(batch: TokenBatch, generator: torch.Generator, *, low: float, high: float) -> Tensor:
    """M = 1 where ``low`` H1 <= -ln p <= ``high`` H1: the relative surprisal -ln p / H1 lies in the interval.

    A certain token, with p = 1 and H1 = 0, is kept. The paper's own interval is not public.
    """
    tokens = batch.statistics
    surprisal = -tokens.logprob
    return (surprisal >= low * tokens.h1) & (surprisal <= high * tokens.h1) & batch.mask
