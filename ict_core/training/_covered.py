"""KL-Cov over the whole batch: its tokens are chosen once per update, not per micro-batch (verl #7829, #7830)."""

from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import Tensor

from ict_core.training._passes import Batch, DensePasses
from ict_core.training.objective import highest_covariance
from ict_core.training.ranks import own_rows, whole_batch


@dataclass
class Covered:
    """The tokens of a rollout batch with the largest covariance of ln p and A, over all ranks."""

    accelerator: Accelerator
    passes: DensePasses
    share: float  # of the response tokens, at least one
    pad_id: int

    def rollouts(self, batch: Batch) -> None:
        """Store this rank's part of a rollout batch, and number its rows."""
        batch["row"] = torch.arange(len(batch["advantages"]), device=batch["advantages"].device)
        self._own, self._update = dict(batch), -1

    def chosen(self, rows: Tensor, update: int) -> Tensor:
        """The chosen tokens of n rows, (n, T) bool; chosen again before each update, by the policy at that time.

        Before the first update that is the policy that sampled. Later updates take a pass without a gradient.
        """
        if update != self._update:
            batch = self._own
            logps = self.passes.all_log_probs(self.passes.trainer.model, batch) if update else batch["logprob"]
            logps = self.accelerator.gather(self.accelerator.pad_across_processes(logps, 1))
            gathered = whole_batch(self.accelerator, batch, self.pad_id)
            advantages, tokens = gathered["advantages"].unsqueeze(1), gathered["completion_mask"].bool()
            bound = highest_covariance(logps, advantages, tokens, self.share)
            self._bound, self._update = own_rows(self.accelerator, bound, batch["completion_mask"]), update
        return self._bound[rows]
