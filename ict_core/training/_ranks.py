"""What several ranks know together: the whole rollout batch, their shares of the work, sums over all of them."""

from collections.abc import Mapping
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from ict_core.training._kept_rollouts import NUMBER


def whole_batch(accelerator: Accelerator, batch: Mapping[str, Any], pad_id: int) -> dict[str, Tensor]:
    """The rollouts of all ranks in the order of the ranks, on every rank, as wide as the longest row of all ranks.

    TRL gives rank r the rows r B/R to (r + 1) B/R of the generation batch, so a group may lie on two ranks. Of this
    rank's part are taken ``prompt_ids`` and ``prompt_mask`` (B/R, P), padded on the left, ``completion_ids`` and
    ``completion_mask`` (B/R, T), padded on the right, ``rewards``, ``advantages`` and, if it is there, ``NUMBER``.
    """
    padding = {"prompt_ids": pad_id, "prompt_mask": 0, "completion_ids": pad_id, "completion_mask": 0}
    parts = {
        name: accelerator.pad_across_processes(batch[name], 1, index, pad_first=name.startswith("prompt"))
        for name, index in padding.items()
    }
    parts |= {name: batch[name] for name in ("rewards", "advantages", NUMBER) if name in batch}
    return {name: accelerator.gather(part) for name, part in parts.items()}


def own_rows(accelerator: Accelerator, whole: Tensor, like: Tensor) -> Tensor:
    """This rank's rows of a tensor over all of them, (B,) or (B, T), cut to the shape of its own part ``like``."""
    start = accelerator.process_index * len(like)
    rows = whole[start : start + len(like)]
    return rows if rows.ndim == 1 else rows[:, : like.size(1)]


def rounds(accelerator: Accelerator, parts: int) -> list[tuple[int, bool]]:
    """Which of ``parts`` pieces of work this rank does, one a round, the same number of rounds on every rank.

    A sharded model's forward pass needs every rank, so a rank without a piece of its own left repeats piece 0, whose
    result does not count: the second of (piece, whether it counts).
    """
    ranks, rank = accelerator.num_processes, accelerator.process_index
    mine = range(rank, -(-parts // ranks) * ranks, ranks)
    return [(piece, True) if piece < parts else (0, False) for piece in mine]


def gathered_sums(accelerator: Accelerator, values: list[Tensor]) -> Tensor:
    """(sum, count) over the elements of each tensor on all ranks, float64, (len(values), 2)."""
    pairs = [torch.stack([v.double().sum(), torch.tensor(v.numel(), device=v.device).double()]) for v in values]
    return accelerator.gather(torch.stack(pairs).unsqueeze(0)).sum(0)
