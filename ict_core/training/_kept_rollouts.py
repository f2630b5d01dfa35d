"""All rollouts of a training, one Parquet file per rollout batch; checkpoints hold links to the files."""

import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
from torch import Tensor

from ict_core.store import records
from ict_core.store.files import remove

NUMBER = "problem_number"  # column of the dataset and of its batches, where rollouts are kept


class KeptRollouts:
    """Writes `records.KEPT_ROLLOUTS` of every batch into a folder, which is emptied first.

    ``problems`` identifies each training problem by ``benchmark`` and ``problem``; its text is not kept.
    """

    def __init__(self, folder: Path, problems: pd.DataFrame, group_size: int, tokenizer: Any) -> None:
        self._folder, self._problems = folder, problems[["benchmark", "problem"]]
        self._group_size, self._tokenizer = group_size, tokenizer
        remove(folder)

    def add(self, step: int, batch: dict[str, Any], logprob: Tensor, weights: Tensor, truncated: Tensor) -> None:
        """Write a batch: :data:`NUMBER`, rewards and advantages are (B,), completion ids and mask (B, T)."""
        mask = batch["completion_mask"].bool().cpu()
        lists = {
            "ids": batch["completion_ids"].cpu(),
            "logprob": logprob.float().cpu(),
            "weight": weights.float().cpu(),
        }
        columns = {n: [row[response].numpy() for row, response in zip(v, mask, strict=True)] for n, v in lists.items()}
        rows = self._problems.iloc[batch[NUMBER].tolist()].reset_index(drop=True)
        frame = rows.assign(
            step=step,
            group=rows.index // self._group_size,
            rollout=rows.index % self._group_size,
            text=self._tokenizer.batch_decode(columns["ids"], skip_special_tokens=True),
            reward=batch["rewards"].double().cpu().numpy(),
            advantage=batch["advantages"].double().cpu().numpy(),
            tokens=mask.sum(-1).numpy(),
            truncated=truncated.cpu().numpy(),
            **columns,
        )
        records.write_frame(frame, self._folder / f"step-{step:06}.parquet", records.KEPT_ROLLOUTS)

    def link_into(self, folder: Path) -> None:
        """Link the files written so far into the folder of a checkpoint or of the training's output."""
        _link(self._folder, folder)

    def take_from(self, folder: Path) -> None:
        """Replace the files written so far by those of a checkpoint."""
        remove(self._folder)
        _link(folder, self._folder)


def _link(source: Path, folder: Path) -> None:
    """Hard-link the files into another folder, or copy them where the file system has no hard links."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.glob("*.parquet")):
        try:
            os.link(file, folder / file.name)
        except OSError:
            shutil.copyfile(file, folder / file.name)
