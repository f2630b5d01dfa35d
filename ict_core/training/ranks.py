"""A rollout batch that lies on several ranks, as one: group statistics and thresholds must not depend on how many."""

from collections.abc import Mapping
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor


def whole_batch(accelerator: Accelerator, batch: Mapping[str, Any], pad_id: int) -> dict[str, Tensor]:
    """The rollouts of all ranks in the order of the ranks, on every rank.

    TRL gives rank r the rows r B/R to (r + 1) B/R of the generation batch, so a group may lie on two ranks. Only token
    ids, masks, rewards and advantages travel.

    Args:
        batch: this rank's part, as TRL's trainer makes it: ``prompt_ids`` and ``prompt_mask`` (B/R, P), padded on the
            left; ``completion_ids`` and ``completion_mask`` (B/R, T), padded on the right; ``rewards`` and
            ``advantages`` (B/R,). P and T are this rank's own.

    Returns:
        the same keys over B rows, P and T those of the longest row of all ranks.
    """
    parts = {
        "prompt_ids": _padded(accelerator, batch["prompt_ids"], pad_id, left=True),
        "prompt_mask": _padded(accelerator, batch["prompt_mask"], 0, left=True),
        "completion_ids": _padded(accelerator, batch["completion_ids"], pad_id),
        "completion_mask": _padded(accelerator, batch["completion_mask"], 0),
        "rewards": batch["rewards"],
        "advantages": batch["advantages"],
    }
    return {name: accelerator.gather(part) for name, part in parts.items()}


def own_rows(accelerator: Accelerator, whole: Tensor, like: Tensor) -> Tensor:
    """This rank's rows of a tensor over all of them, cut to the width of its own batch.

    Args:
        whole: (B,) or (B, T).
        like: this rank's (B/R, T/own).
    """
    start = accelerator.process_index * len(like)
    rows = whole[start : start + len(like)]
    return rows if rows.ndim == 1 else rows[:, : like.size(1)]


def rounds(accelerator: Accelerator, parts: int) -> list[tuple[int, bool]]:
    """Which of ``parts`` pieces of work this rank does, one a round, the same number of rounds on every rank.

    A sharded model's forward pass needs every rank, so a rank without a piece of its own left repeats piece 0.

    Returns:
        (piece, whether its result counts) of every round.
    """
    ranks, rank = accelerator.num_processes, accelerator.process_index
    mine = range(rank, -(-parts // ranks) * ranks, ranks)
    return [(piece, True) if piece < parts else (0, False) for piece in mine]


def gathered_sums(accelerator: Accelerator, values: list[Tensor]) -> Tensor:
    """(sum, count) over the elements of each tensor on all ranks, float64, (len(values), 2)."""
    local = [torch.stack([v.double().sum(), torch.tensor(float(v.numel()), device=v.device)]) for v in values]
    stacked = torch.stack([pair.double() for pair in local])
    return accelerator.gather(stacked.unsqueeze(0)).sum(0)


def _padded(accelerator: Accelerator, part: Tensor, index: int, left: bool = False) -> Tensor:
    return accelerator.pad_across_processes(part, dim=1, pad_index=index, pad_first=left)
