"""Token samples as a training writes them, from random statistics."""

import pandas as pd
import torch
from torch import Tensor

from ict_core.config.method_files import load_methods
from ict_core.seeding import derive_seed
from ict_core.selection.base import TokenBatch
from ict_core.selection.registry import selector
from ict_core.store import layout
from ict_core.store.token_scores import POLICY_STATISTICS, STATISTICS, UNSAMPLED_SCORES
from ict_core.tokens.streaming import TokenStatistics
from ict_core.training.token_log import TrainingLog

WRITTEN = load_methods(layout.METHODS)
METHODS = {  # as the stage `shadow`, but for controls
    variant: method
    for variant, method in WRITTEN.items()
    if not (method.control or method.known_steps or method.parameters().get("score") in UNSAMPLED_SCORES)
}
GROUPS, GROUP_SIZE, LENGTH = 4, 4, 17


def random_batch(seed: int) -> tuple[TokenStatistics, dict[str, Tensor]]:
    """Statistics with many ties, and the tensors of a rollout batch."""
    g = torch.Generator().manual_seed(seed)
    rows = GROUPS * GROUP_SIZE
    mask = torch.arange(LENGTH) < torch.randint(1, LENGTH + 1, (rows, 1), generator=g)
    values = torch.rand(len(STATISTICS), rows, LENGTH, generator=g)
    scores = values[len(POLICY_STATISTICS) :]
    scores.mul_(8).round_().div_(8)
    values[0] = (0.9 * values[0] ** 3 + 1e-3).log()  # some below STAPO's bound
    batch = {
        "completion_mask": mask.long(),
        "completion_ids": torch.randint(5, 300, mask.shape, generator=g),
        "rewards": torch.zeros(rows),
        "advantages": torch.randn(rows, generator=g),
    }
    return TokenStatistics(values * mask, STATISTICS, GROUP_SIZE), batch


def sample(variant: str, seed: int, groups: int = 2, step: int = 10) -> pd.DataFrame:
    """`records.TOKENS` of one step: what a variant keeps of a batch, of which the first groups are written."""
    statistics, batch = random_batch(seed)
    mask, method = batch["completion_mask"].bool(), METHODS[variant]
    generator = torch.Generator().manual_seed(derive_seed(seed, "selection", step))
    tokens = TokenBatch(statistics, batch["advantages"], mask)
    kept = selector(method.selector)(tokens, generator, **method.parameters())
    log = TrainingLog(GROUP_SIZE, 1, groups, forks=lambda ids: [token % 7 == 0 for token in ids])
    log.rollouts(step, batch, statistics, kept, torch.zeros(len(mask)).bool(), selecting=True)
    return log.tokens()
