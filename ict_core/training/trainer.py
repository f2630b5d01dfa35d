"""TRL's GRPOTrainer with a choice of the tokens that are trained, and nothing else changed."""

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from trl import GRPOTrainer

from ict_core.config.methods import Method
from ict_core.seeding import derive_seed
from ict_core.selection import SELECTORS
from ict_core.tokens.streaming import PAPER, SCORES, TokenStatistics, token_statistics
from ict_core.training.objective import k3, normaliser, psi, selected_loss
from ict_core.training.probe import WeightProbe
from ict_core.training.ranks import gathered_sums, own_rows, rounds, whole_batch
from ict_core.training.token_log import TrainingLog

Batch = dict[str, Any]


class SelectiveGRPOTrainer(GRPOTrainer):
    """GRPO over the tokens that a selection rule keeps.

    Selection happens once a rollout batch, over the groups of all ranks and before TRL shuffles and splits it into
    micro-batches, so no threshold depends on micro-batching or on the number of ranks. With every token kept, a run is
    bit-equal to TRL's own.

    Args:
        method: the selection rule with its parameters, normaliser and warm-up.
        seed: the cell's seed, from which rollout and selection seeds are derived for every step.
        training_log: receives one record a step.
        probe: fixed prompts, token ids, with which vLLM's weights are checked after every transfer.
        probe_bound: the mean difference of log-probs beyond which the run stops, nats.
    """

    def __init__(
        self,
        *args: Any,
        method: Method,
        seed: int,
        training_log: TrainingLog,
        probe: list[list[int]] | None = None,
        probe_bound: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if self.loss_type != "grpo" or self.num_iterations != 1 or self.top_entropy_quantile < 1.0:
            raise ValueError("selection is defined for loss_type grpo, one update a batch and no other token mask")
        self._method = method
        self._seed = seed
        self._training_log = training_log
        self._select = SELECTORS[method.selector]
        self._scores = tuple(name for name in SCORES if name in (PAPER, method.parameters().get("score")))
        self._sample: Batch | None = None  # rollouts that are looked at again after the update
        self._probe: WeightProbe | None = None
        if self.use_vllm:
            from ict_core.training.rollouts import SeededSampler

            sampler = SeededSampler(self.vllm_generation, probe or [], self._rollout_seed)
            self._probe = WeightProbe(sampler, self.accelerator, probe_bound)

    def _generate_and_score_completions(self, inputs: list[Batch]) -> Batch:
        step = self.state.global_step
        started = time.perf_counter()
        torch.manual_seed(self._sampling_seed(step))
        batch = super()._generate_and_score_completions(inputs)
        generated = time.perf_counter()
        whole = whole_batch(self.accelerator, batch, self._tokenizer.pad_token_id)
        mask = whole["completion_mask"].bool()
        sampled = self._training_log.sampled(step)
        tokens = self._token_statistics(whole, mask, tuple(SCORES) if sampled else self._scores)
        self._sample = {k: v[: self._training_log.sample_rows] for k, v in whole.items()} if sampled else None
        selecting = step >= (self._method.warmup_steps or 0)  # a study has settled it
        kept = self._kept(tokens, whole["advantages"], mask, step) if selecting else mask
        counts = normaliser(self._method.normaliser if selecting else "response", kept, mask)
        batch["kept"] = own_rows(self.accelerator, kept.float(), batch["completion_mask"])
        batch["normaliser"] = own_rows(self.accelerator, counts, batch["completion_mask"])
        truncated = self._truncated(whole, mask)
        self._training_log.rollouts(step, whole, tokens, kept, self._scored(), truncated, selecting=selecting)
        self._training_log.sampler(*self._sampler_mismatch(batch))
        self._training_log.times(step, rollout_s=generated - started, statistics_s=time.perf_counter() - generated)
        return batch

    def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
        sampled = super()._generate_single_turn(*args, **kwargs)
        if self._probe is not None:  # before anything is made of the rollouts
            self._training_log.probed(self._probe.check(self._policy(), self.state.global_step))
        return sampled

    def _sampling_seed(self, step: int) -> int:
        """Of the global generator, from which transformers samples: another one on every rank."""
        rank = self.accelerator.process_index
        return derive_seed(self._seed, "rollout", step, *(["rank", rank] if rank else []))

    def _rollout_seed(self, number: int) -> int:
        """Of one rollout of the current step's whole batch, which vLLM is given."""
        return derive_seed(self._seed, "rollout", self.state.global_step, "request", number)

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

    def _sampler_mismatch(self, batch: Batch) -> tuple[float, float]:
        """How far vLLM's log-probs of its own tokens are from the trainer's, nats, and the share that is corrected.

        A token is corrected where its ratio was set to zero (masked) or to a bound (truncated). NaN without vLLM.
        """
        if "importance_sampling_ratio" not in batch:
            return float("nan"), float("nan")
        mask = batch["completion_mask"].bool()
        difference = (batch["old_per_token_logps"] - batch["sampling_per_token_logps"])[mask].abs()
        ratio = batch["importance_sampling_ratio"].expand_as(mask)[mask]
        bounds = [0.0, self.vllm_importance_sampling_clip_min, self.vllm_importance_sampling_clip_max]
        limits = torch.tensor([b for b in bounds if b is not None], dtype=ratio.dtype, device=ratio.device)
        (total, number), (corrected, _) = gathered_sums(self.accelerator, [difference, torch.isin(ratio, limits)])
        return (total / number).item(), (corrected / number).item()

    @torch.no_grad()
    def _token_statistics(self, batch: Batch, mask: Tensor, scores: Sequence[str]) -> TokenStatistics:
        """Statistics under the current policy, which before the update is the one that made the rollouts.

        The groups are shared out among the ranks; every rank gets all results.
        """
        size = self._training_log.group_size
        at_once = size * max(1, self.args.per_device_train_batch_size // size)  # whole groups
        pieces = [slice(start, start + at_once) for start in range(0, len(mask), at_once)]
        results = torch.zeros(3 + len(scores), *mask.shape, device=mask.device)
        head = self._head()
        for index, counts in rounds(self.accelerator, len(pieces)):
            rows = pieces[index]
            hidden = self._hidden(batch, rows, mask.size(1))
            with self.accelerator.autocast():
                found = token_statistics(
                    hidden,
                    head,
                    batch["completion_ids"][rows],
                    mask[rows],
                    group_size=size,
                    temperature=self.temperature,
                    scores=scores,
                )
            if counts:
                results[:, rows] = found.stack()
        return TokenStatistics.stacked(self.accelerator.reduce(results, "sum"), scores, size)

    def _look_again(self) -> None:
        """After an update: what it did to the tokens of the sample."""
        if self._sample is None:
            return
        started = time.perf_counter()
        mask = self._sample["completion_mask"].bool()
        tokens = self._token_statistics(self._sample, mask, ())
        self._training_log.after_update(tokens, mask, time.perf_counter() - started)
        self._sample = None

    def _policy(self) -> torch.nn.Module:
        assert self.model is not None
        return self.model

    def _head(self) -> Tensor:
        """The weight of the LM head, (V, D), whole."""
        weight = self.accelerator.unwrap_model(self.model).get_output_embeddings().weight
        return weight.full_tensor() if isinstance(weight, DTensor) else weight

    def _hidden(self, batch: Batch, rows: slice, length: int) -> Tensor:
        """The states that predict the response tokens of some rows, (rows, T, D), a micro-batch at a time."""
        input_ids = torch.cat([batch["prompt_ids"][rows], batch["completion_ids"][rows]], dim=1)
        attention_mask = torch.cat([batch["prompt_mask"][rows], batch["completion_mask"][rows]], dim=1)
        states: list[Tensor] = []
        backbone = self.accelerator.unwrap_model(self.model).get_decoder()
        # through the outermost module, which is the one that gathers sharded weights; its head sees one position
        hook = backbone.register_forward_hook(
            lambda *call: states.append(call[-1].last_hidden_state[:, -length - 1 : -1])
        )
        try:
            size = self.args.per_device_train_batch_size
            for ids, attention in zip(input_ids.split(size), attention_mask.split(size), strict=True):
                with self.accelerator.autocast():
                    self._policy()(input_ids=ids, attention_mask=attention, logits_to_keep=1, use_cache=False)
        finally:
            hook.remove()
        return torch.cat(states)

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
        self._training_log.update(loss.detach(), divergence.detach()[mask], clipped[mask])
        return loss / self.current_gradient_accumulation_steps

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if "grad_norm" in logs:
            self._look_again()
            sums = gathered_sums(self.accelerator, self._training_log.updates())
            self._training_log.finish_step(sums, logs["grad_norm"], logs["learning_rate"])
        super().log(logs, start_time)
