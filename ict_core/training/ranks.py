"""Data and work of several ranks: the whole rollout batch, each rank's share of the work, sums over all ranks."""

from collections.abc import Mapping
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from ict_core.training._kept_rollouts import NUMBER


def whole_batch(accelerator: Accelerator, batch: Mapping[str, Any], pad_id: int) -> dict[str, Tensor]:
    """The rollouts of all ranks in the order of the ranks, on every rank, padded to the longest row of all ranks.

    TRL gives rank r the rows r B/R to (r + 1) B/R of the generation batch, so a group may be split over two ranks. The
    entries gathered are ``prompt_ids`` and ``prompt_mask`` (B/R, P), padded on the left; ``completion_ids`` and
    ``completion_mask`` (B/R, T), padded on the right; and ``rewards``, ``advantages`` and ``NUMBER`` where present.
    """
    padding = {"prompt_ids": pad_id, "prompt_mask": 0, "completion_ids": pad_id, "completion_mask": 0}
    parts = {
        name: accelerator.pad_across_processes(batch[name], 1, index, pad_first=name.startswith("prompt"))
        for name, index in padding.items()
    }
    parts |= {name: batch[name] for name in ("rewards", "advantages", NUMBER) if name in batch}
    return {name: accelerator.gather(part) for name, part in parts.items()}


def own_rows(accelerator: Accelerator, whole: Tensor, like: Tensor) -> Tensor:
    """This rank's rows of a tensor over all ranks, (B,) or (B, T), cut to the shape of the rank's part ``like``."""
    start = accelerator.process_index * len(like)
    rows = whole[start : start + len(like)]
    return rows if rows.ndim == 1 else rows[:, : like.size(1)]


def rounds(accelerator: Accelerator, parts: int) -> list[tuple[int, bool]]:
    """The pieces of work, out of ``parts``, that this rank does: one per round, in equally many rounds on every rank.

    Returns (piece, whether its result counts) for each round. A sharded model's forward pass needs every rank, so a
    rank with no piece left repeats piece 0, whose result does not count.
    """
    ranks, rank = accelerator.num_processes, accelerator.process_index
    pieces = range(rank, -(-parts // ranks) * ranks, ranks)
    return [(piece, True) if piece < parts else (0, False) for piece in pieces]


def gathered_sums(accelerator: Accelerator, values: list[Tensor]) -> Tensor:
    """(sum, count) over the elements of each tensor on all ranks, float64, (len(values), 2)."""
    pairs = [torch.stack([v.double().sum(), torch.tensor(v.numel(), device=v.device).double()]) for v in values]
    return accelerator.gather(torch.stack(pairs).unsqueeze(0)).sum(0)
