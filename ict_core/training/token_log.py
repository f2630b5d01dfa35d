"""The log of a training run: one record per step, and a sample of its tokens' statistics."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from ict_core.selection.base import effective_share
from ict_core.store import records
from ict_core.store.layout import TrainFiles
from ict_core.store.token_scores import POLICY_STATISTICS, STATISTICS
from ict_core.tokens.streaming import TokenStatistics
from ict_core.training._kept_rollouts import KeptRollouts


class TrainingLog:
    """Collects ``records.LOG``, ``records.TIMING`` and ``records.TOKENS``.

    Every ``sample_every`` steps (None: never) the token statistics of ``sample_groups`` groups are sampled. ``forks``
    maps a response's token ids to whether each is a known decision point; None where the problems have none.
    ``kept`` receives all rollouts; None: they are not kept.
    """

    def __init__(
        self,
        group_size: int,
        sample_every: int | None,
        sample_groups: int,
        forks: Callable[[list[int]], list[bool]] | None = None,
        kept: KeptRollouts | None = None,
    ) -> None:
        self.group_size = group_size
        self.sample_rows = sample_groups * group_size
        self._sample_every = sample_every
        self._forks = forks
        self._steps: list[dict[str, Any]] = []
        self._timing: list[dict[str, float]] = []
        self._samples: list[pd.DataFrame] = []
        self._kept = kept
        self._held_out: list[pd.DataFrame] = []
        self._updates: list[tuple[Tensor, Tensor, Tensor]] = []
        self._mark = time.perf_counter()

    def sampled(self, step: int) -> bool:
        """Whether a step's first ``sample_rows`` rollouts are written to the token sample, with all scores."""
        return self._sample_every is not None and step % self._sample_every == 0

    def rollouts(
        self,
        step: int,
        batch: dict[str, Any],
        tokens: TokenStatistics,
        weights: Tensor,
        truncated: Tensor,
        *,
        selecting: bool,
    ) -> None:
        """Open the record of a step with its rollout batch.

        It has ``completion_ids`` and ``completion_mask`` (B, T), ``rewards`` and ``advantages`` (B,). ``tokens`` has
        statistics under the policy that sampled, with every group score in a sampled step. ``selecting`` says whether
        a rule made ``weights``, (B, T), bool or float. ``truncated``, (B,) bool, marks responses that reached the token
        limit.
        """
        kept = weights > 0
        mask, rewards = batch["completion_mask"].bool(), batch["rewards"]
        scored = rewards[~rewards.isnan()]  # an answer that could not be graded has no reward
        advantages = batch["advantages"].view(-1, self.group_size)
        self._rollout = tokens, mask
        self._steps.append(
            {
                "step": step,
                "selecting": selecting,
                "reward": _mean(scored),
                "reward_std": scored.double().std().item(),
                "zero_advantage_share": _mean((advantages == 0).all(-1)),
                "length_mean": _mean(mask.sum(-1)),
                "truncated_share": _mean(truncated),
                "h1": _mean(tokens.h1[mask]),
                "h2": _mean(tokens.h2[mask]),
                **self._weighed(weights),
                "tokens": int(mask.sum()),
                **dict.fromkeys(("probe_difference", "sampler_difference", "corrected_share"), np.nan),  # vLLM only
            }
        )
        if self.sampled(step):
            self._samples.append(self._sample(step, batch, tokens, kept))
        if self._kept is not None:
            self._kept.add(step, batch, tokens.logprob, weights, truncated)

    def held_out(self, answers: pd.DataFrame) -> None:
        """Add a point of the learning curve: ``records.LEARNING_CURVE`` of one step."""
        self._held_out.append(answers)

    def _weighed(self, weights: Tensor) -> dict[str, float]:
        """The columns about an update's weights, (B, T), on the last rollout batch."""
        tokens, mask = self._rollout
        columns = {"h1_kept": tokens.h1, "h2_kept": tokens.h2}
        share = {"kept_share": effective_share(weights, mask)}
        return share | {name: _weighted_mean(values, weights) for name, values in columns.items()}

    def add(self, **columns: float) -> None:
        """Set columns of the open record."""
        self._steps[-1] |= columns

    def repeat(self, weights: Tensor) -> None:
        """Open the record of one more update, with ``weights``, on the last rollout batch; it samples no tokens."""
        last = self._steps[-1]
        self._steps.append({**last, "step": last["step"] + 1, "tokens": 0, **self._weighed(weights)})
        self._timing.append({"step": last["step"] + 1, "rollout_s": 0.0, "statistics_s": 0.0})

    def times(self, step: int, rollout_s: float, statistics_s: float) -> None:
        """Record the wall time of a step's parts, seconds; the rest of the step is the update."""
        self._timing.append({"step": step, "rollout_s": rollout_s, "statistics_s": statistics_s})

    def update(self, loss: Tensor, divergence: Tensor, clipped: Tensor) -> None:
        """Record a micro-batch of the update: its loss, KL estimates of response tokens, clip marks of kept ones."""
        self._updates.append((loss, divergence, clipped))

    def updates(self) -> list[Tensor]:
        """What :meth:`update` recorded in this step: losses, KL estimates, clip marks."""
        losses, divergences, clipped = zip(*self._updates, strict=True)
        return [torch.stack(losses), torch.cat(divergences), torch.cat(clipped)]

    def after_update(self, tokens: TokenStatistics, mask: Tensor, seconds: float) -> None:
        """Record the statistics of the last sample's rollouts under the updated policy, and the time they took."""
        cells = mask[: self.sample_rows].cpu().nonzero(as_tuple=True)
        after = {f"{name}_after": _at(tokens[name], cells) for name in POLICY_STATISTICS}
        self._samples[-1] = self._samples[-1].assign(**after)
        self._timing[-1]["statistics_s"] += seconds

    def finish_step(self, sums: Tensor) -> None:
        """Close the record; ``sums``, (3, 2), has sum and number of each entry of :meth:`updates` over all ranks.

        Columns that only transformers' own log states are added when transformers logs.
        """
        loss, kl, clip_share = (sums[:, 0] / sums[:, 1]).tolist()
        self.add(loss=loss, kl=kl, clip_share=clip_share, grad_norm=np.nan, learning_rate=np.nan)
        timing = self._timing[-1]
        timing["total_s"] = time.perf_counter() - self._mark
        timing["update_s"] = timing["total_s"] - timing["rollout_s"] - timing["statistics_s"]
        self._mark += timing["total_s"]
        self._updates = []

    def means(self, columns: Mapping[str, str], steps: int) -> dict[str, float]:
        """Means of some columns over the last steps, under the names in ``columns``; without those that are all NaN."""
        last = self._steps[-steps:] if steps else []
        values = {name: [row[column] for row in last if not np.isnan(row[column])] for column, name in columns.items()}
        return {name: float(np.mean(numbers)) for name, numbers in values.items() if numbers}

    def start(self) -> None:
        """Mark the start of the next step's wall time."""
        self._mark = time.perf_counter()

    def steps(self) -> pd.DataFrame:
        """``records.LOG``."""
        return pd.DataFrame(self._steps)

    def timing(self) -> pd.DataFrame:
        """``records.TIMING``."""
        return pd.DataFrame(self._timing)

    def tokens(self) -> pd.DataFrame:
        """``records.TOKENS``."""
        samples = self._samples or [pd.DataFrame(columns=list(records.TOKENS))]
        return pd.concat(samples, ignore_index=True)

    def write(self, folder: Path) -> None:
        """Write the frames of :class:`TrainFiles`."""
        files = TrainFiles(folder)
        records.write_frame(self.steps(), files.log, records.LOG)
        records.write_frame(self.timing(), files.timing, records.TIMING)
        records.write_frame(self.tokens(), files.tokens, records.TOKENS)
        if self._held_out:
            records.write_frame(pd.concat(self._held_out), files.learning_curve, records.LEARNING_CURVE)
        if self._kept is not None:
            self._kept.link_into(files.rollouts)

    def read(self, folder: Path) -> None:
        """Replace the log by the frames that :meth:`write` wrote after a complete step."""
        files = TrainFiles(folder)
        steps: Any = records.read_frame(files.log, records.LOG).to_dict("records")
        timing: Any = records.read_frame(files.timing, records.TIMING).to_dict("records")
        self._steps, self._timing = steps, timing
        self._samples = [records.read_frame(files.tokens, records.TOKENS)]
        if files.learning_curve.exists():
            self._held_out = [records.read_frame(files.learning_curve, records.LEARNING_CURVE)]
        if self._kept is not None:
            self._kept.take_from(files.rollouts)

    def _sample(self, step: int, batch: dict[str, Any], tokens: TokenStatistics, kept: Tensor) -> pd.DataFrame:
        mask = batch["completion_mask"].bool()[: self.sample_rows].cpu()
        cells = row, position = mask.nonzero(as_tuple=True)
        ids = batch["completion_ids"].cpu()
        responses = [ids[i][mask[i]].tolist() for i in range(len(mask))]
        forks = np.full(len(row), np.nan)
        if self._forks is not None:
            forks = np.concatenate([np.asarray(self._forks(response), dtype=np.float64) for response in responses])
        return pd.DataFrame(
            {
                "step": step,
                "group": (row // self.group_size).numpy(),
                "rollout": (row % self.group_size).numpy(),
                "position": position.numpy(),
                "token": np.concatenate(responses),
                "fork": forks,
                **{name: _at(tokens[name], cells) for name in STATISTICS},
                "advantage": batch["advantages"].double().cpu()[row].numpy(),
                "kept": kept[: self.sample_rows].cpu()[cells].numpy(),
                **dict.fromkeys((f"{name}_after" for name in POLICY_STATISTICS), np.nan),
            }
        )


def _mean(values: Tensor) -> float:
    """The mean in float64; NaN without values."""
    return values.double().mean().item()


def _weighted_mean(values: Tensor, weights: Tensor) -> float:
    """sum w x / sum w in float64, NaN where nothing has a weight."""
    if weights.dtype == torch.bool:
        return _mean(values[weights])
    w = weights.double()
    return ((values.double() * w).sum() / w.sum()).item()


def _at(values: Tensor, at: tuple[Tensor, ...]) -> Any:
    """The values at (row, position), float64."""
    return values.double().cpu()[at].numpy()
