"""TRL's GRPOTrainer with a choice of the tokens that are trained, and nothing else changed."""

import time
from typing import Any

import torch
from torch import Tensor
from trl import import_utils as trl_imports

from ict_core.config.methods import Method
from ict_core.seeding import derive_seed
from ict_core.selection import SELECTORS
from ict_core.tokens.streaming import TokenStatistics, token_statistics
from ict_core.training.objective import k3, normaliser, psi, selected_loss
from ict_core.training.token_log import TrainingLog

# TRL imports all of vLLM where it is installed, 4 s of a job's start. Rollouts come from transformers here.
trl_imports.is_vllm_available = lambda *_, **__: False
from trl import GRPOTrainer  # noqa: E402

Batch = dict[str, Any]


class SelectiveGRPOTrainer(GRPOTrainer):
    """GRPO over the tokens that a selection rule keeps.

    Selection happens once a rollout batch, when its groups are whole and before TRL shuffles and splits it into
    micro-batches, so no threshold depends on micro-batching. With every token kept, a run is bit-equal to TRL's own.

    Args:
        method: the selection rule with its parameters, normaliser and warm-up.
        seed: the cell's seed, from which rollout and selection seeds are derived for every step.
        training_log: receives one record a step.
    """

    def __init__(self, *args: Any, method: Method, seed: int, training_log: TrainingLog, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.loss_type != "grpo" or self.num_iterations != 1 or self.top_entropy_quantile < 1.0:
            raise ValueError("selection is defined for loss_type grpo, one update a batch and no other token mask")
        self._method = method
        self._seed = seed
        self._training_log = training_log
        self._select = SELECTORS[method.selector]

    def _generate_and_score_completions(self, inputs: list[Batch]) -> Batch:
        step = self.state.global_step
        started = time.perf_counter()
        torch.manual_seed(derive_seed(self._seed, "rollout", step))
        batch = super()._generate_and_score_completions(inputs)
        generated = time.perf_counter()
        mask = batch["completion_mask"].bool()
        tokens = self._token_statistics(batch, mask)
        selecting = step >= self._method.warmup_steps
        kept = self._kept(tokens, batch["advantages"], mask, step) if selecting else mask
        kind = self._method.normaliser if selecting else "response"
        batch["kept"] = kept.float()
        batch["normaliser"] = normaliser(kind, kept, mask)
        self._training_log.rollouts(
            step, batch, tokens, kept, self._scored(), self._truncated(batch, mask), selecting=selecting
        )
        self._training_log.times(step, rollout_s=generated - started, statistics_s=time.perf_counter() - generated)
        return batch

    def _kept(self, tokens: TokenStatistics, advantages: Tensor, mask: Tensor, step: int) -> Tensor:
        generator = torch.Generator().manual_seed(derive_seed(self._seed, "selection", step))
        return self._select(tokens, advantages, mask, generator, **self._method.parameters())

    def _scored(self) -> Tensor:
        """Rewards of the rollout batch that was just scored, (B,)."""
        (scored,) = dict(self._logs["rewards"]).values()
        return torch.tensor(list(scored))

    def _truncated(self, batch: Batch, mask: Tensor) -> Tensor:
        """True where a response ran into the token limit, (B,)."""
        stops = torch.tensor(self.eos_token_ids, device=mask.device)
        return ~(torch.isin(batch["completion_ids"], stops) & mask).any(-1)

    @torch.no_grad()
    def _token_statistics(self, batch: Batch, mask: Tensor) -> TokenStatistics:
        """Statistics under the policy that made the rollouts, which is the current one: the update is on-policy."""
        model = self.accelerator.unwrap_model(self.model)
        input_ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
        attention_mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
        length = mask.size(1)
        hidden = [
            model.model(input_ids=ids, attention_mask=attention).last_hidden_state[:, -length - 1 : -1]
            for ids, attention in zip(
                input_ids.split(self.args.per_device_train_batch_size),
                attention_mask.split(self.args.per_device_train_batch_size),
                strict=True,
            )
        ]
        return token_statistics(
            torch.cat(hidden),
            model.lm_head.weight,
            batch["completion_ids"],
            mask,
            group_size=self._training_log.group_size,
            temperature=self.temperature,
        )

    def _compute_loss(self, model: torch.nn.Module, inputs: Batch) -> Tensor:
        """The objective of the method specification, section 2, in the order of operations of TRL's ``grpo`` loss."""
        logps, _, _ = self._get_per_token_logps_and_entropies(
            model,
            torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1),
            torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1),
            inputs["completion_ids"].size(1),
        )
        old = inputs.get("old_per_token_logps", logps.detach())
        surrogate, clipped = psi(logps - old, inputs["advantages"].unsqueeze(1), self.epsilon_low, self.epsilon_high)
        per_token = -surrogate
        if "importance_sampling_ratio" in inputs:  # the sampler is not the trainer (vLLM); the same in all arms
            per_token = per_token * inputs["importance_sampling_ratio"]
        if self.beta != 0.0:
            divergence = k3(logps, inputs["ref_per_token_logps"])
            per_token = per_token + self.beta * divergence
        else:
            divergence = torch.full_like(logps, torch.nan)
        loss = selected_loss(per_token, inputs["kept"], inputs["normaliser"])
        mask = inputs["completion_mask"].bool()
        self._training_log.update(loss.item(), divergence.detach()[mask], clipped[mask])
        return loss / self.current_gradient_accumulation_steps

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if "grad_norm" in logs:
            self._training_log.finish_step(logs["grad_norm"], logs["learning_rate"])
        super().log(logs, start_time)
