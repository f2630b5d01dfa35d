"""TRL's GRPOTrainer with a choice of the tokens that are trained, and nothing else changed."""

import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast_object_list
from torch import Tensor
from torch.distributed.tensor import DTensor
from transformers.trainer import TRAINING_ARGS_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOTrainer
from trl.trainer.utils import split_tensor_dict

from ict_core.config.methods import Method
from ict_core.config.training import rows_of_groups
from ict_core.seeding import derive_seed
from ict_core.selection import SELECTORS
from ict_core.tokens.streaming import SCORES, TokenStatistics, token_statistics
from ict_core.training.levers import Levers
from ict_core.training.objective import k3, normaliser, psi, selected_loss
from ict_core.training.packed_model import whole_head
from ict_core.training.passes import Batch, DensePasses, PackedPasses, Passes
from ict_core.training.probe import WeightProbe
from ict_core.training.ranks import gathered_rows, gathered_sums, own_rows, rounds, whole_batch
from ict_core.training.resume import Checkpoints
from ict_core.training.token_log import TrainingLog

_ROLLOUT = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")


class SelectiveGRPOTrainer(GRPOTrainer):
    """GRPO over the tokens that a selection rule keeps.

    Selection happens once a rollout batch, over the groups of all ranks and before it is split into micro-batches, so
    no threshold depends on micro-batching or on the number of ranks. With every token kept and dense passes, a run is
    bit-equal to TRL's own.

    Args:
        levers: of packed passes; None for dense ones.
        method: the selection rule with its parameters, normaliser and warm-up.
        seed: the cell's seed, from which rollout and selection seeds are derived for every step.
        training_log: receives one record a step.
        probe: fixed prompts, token ids, with which vLLM's weights are checked after every transfer.
        probe_bound: the mean difference of log-probs beyond which the run stops, nats.
    """

    def __init__(
        self,
        *args: Any,
        levers: Levers | None,
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
        self._checkpoints: Checkpoints | None = None
        self._resumed_at = 0  # step
        self._select = SELECTORS[method.selector]
        self._scores = tuple(name for name in SCORES if name == method.parameters().get("score"))
        self._sample: Batch | None = None  # rollouts that are looked at again after the update
        self._at_once = rows_of_groups(training_log.group_size, self.args.per_device_train_batch_size)
        self._own: TokenStatistics | None = None  # of this rank's rollouts, found with their old log-probs
        self._packed: PackedPasses | None = None
        self._micro_batches: list[Batch] = []
        dense = super()._get_per_token_logps_and_entropies
        self._passes: Passes = DensePasses(self.accelerator, self._policy, dense, self.args.per_device_train_batch_size)
        if levers is not None:
            plain = [self._plain(model) for model in (self.model, self.ref_model) if model is not None]
            self._passes = self._packed = PackedPasses(self.accelerator, self._policy, plain, self.temperature, levers)
        self._probe: WeightProbe | None = None
        if self.use_vllm:
            from ict_core.training.rollouts import SeededSampler

            sampler = SeededSampler(self.vllm_generation, probe or [], self._rollout_seed)
            self._probe = WeightProbe(sampler, self.accelerator, probe_bound)

    def train_from(self, checkpoints: Checkpoints | None) -> None:
        """Train from the last checkpoint, or from the base where there is none; its frames go into the training log.

        Args:
            checkpoints: of this training; None on all ranks but the first.
        """
        self._checkpoints = checkpoints
        found = [checkpoints.resume() if checkpoints is not None else None]
        (resumed,) = broadcast_object_list(found)
        if resumed is not None:
            self._resumed_at = resumed.step
            self._training_log.read(resumed.folder)
        self._training_log.start()
        self.train(resume_from_checkpoint=None if resumed is None else str(resumed.folder))

    def _get_train_sampler(self, dataset: Any = None) -> Any:
        """As TRL's, past the epochs that a resumed training has had: their orders are drawn from the same generator."""
        sampler: Any = super()._get_train_sampler(dataset)
        for _ in range(self._resumed_at // (sampler.num_samples // sampler.batch_size)):
            torch.randperm(sampler.num_samples, generator=sampler.generator)
        return sampler

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """As transformers', without TRL's model card; none after the last step, as the output follows."""
        if self.state.global_step >= self.state.max_steps:
            return
        super(GRPOTrainer, self)._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()  # each rank writes its generators' states
        if self._checkpoints is not None:
            folder = self._checkpoints.folder / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
            self._training_log.write(folder)
            self._checkpoints.seal(folder)
        self._training_log.start()  # a checkpoint is part of no step

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """As transformers', without the pickle of its arguments."""
        super()._save(output_dir, state_dict)
        Path(output_dir or self.args.output_dir or "", TRAINING_ARGS_NAME).unlink()

    def _prepare_inputs(self, generation_batch: Any) -> Batch:
        """As TRL's; for packed passes in the order of the groups, which share their prompts in a micro-batch then."""
        if self._packed is None:
            return super()._prepare_inputs(generation_batch)
        parts = self.args.gradient_accumulation_steps
        if self._step % parts == 0:
            self._micro_batches = split_tensor_dict(self._generate_and_score_completions(generation_batch), parts)
        return self._micro_batches[self._step % parts]

    def _generate_and_score_completions(self, inputs: list[Batch]) -> Batch:
        step = self.state.global_step
        started = time.perf_counter()
        torch.manual_seed(self._sampling_seed(step))
        self._own = None
        batch = super()._generate_and_score_completions(inputs)
        generated = time.perf_counter()
        self._select_tokens(batch, step)
        self._training_log.sampler(*self._sampler_mismatch(batch))
        self._training_log.times(step, rollout_s=generated - started, statistics_s=time.perf_counter() - generated)
        return batch

    def _select_tokens(self, batch: Batch, step: int) -> None:
        """Add to this rank's rollouts what the loss needs: ``kept`` and ``logprob`` (B, T), ``normaliser`` (B,)."""
        whole = whole_batch(self.accelerator, batch, self._tokenizer.pad_token_id)
        mask = whole["completion_mask"].bool()
        tokens = self._token_statistics(batch, whole)
        sampled = self._training_log.sampled(step)
        self._sample = {k: v[: self._training_log.sample_rows] for k, v in whole.items()} if sampled else None
        selecting = step >= (self._method.warmup_steps or 0)  # a study has settled it
        kept = self._kept(tokens, whole["advantages"], mask, step) if selecting else mask
        counts = normaliser(self._method.normaliser if selecting else "response", kept, mask)
        for name, values in (("kept", kept.float()), ("normaliser", counts), ("logprob", tokens.logprob)):
            batch[name] = own_rows(self.accelerator, values, batch["completion_mask"])
        truncated = self._truncated(whole, mask)
        self._training_log.rollouts(step, whole, tokens, kept, self._scored(), truncated, selecting=selecting)

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

    def _token_statistics(self, own: Batch, whole: Batch) -> TokenStatistics:
        """Statistics under the current policy, which before the update is the one that made the rollouts.

        Every rank gets those of all rollouts.
        """
        size, mask = self._training_log.group_size, own["completion_mask"].bool()
        if len(mask) % size:  # a group lies on two ranks
            return self._shared_out(whole, self._scores_now())
        found = self._own
        if found is None:
            live = None
            if self._packed is not None and self._one_pass():
                live = torch.ones_like(mask[:, 0]) if self.beta != 0.0 else own["advantages"] != 0
            found = self._statistics(own, mask, self._scores_now(), live)
        rows = gathered_rows(self.accelerator, found.stack(), whole["completion_mask"].size(1))
        return TokenStatistics.stacked(rows, self._scores_now(), size)

    def _scores_now(self) -> tuple[str, ...]:
        return tuple(SCORES) if self._training_log.sampled(self.state.global_step) else self._scores

    def _one_pass(self) -> bool:
        """Whether the statistics' pass can be the loss's: the step is one micro-batch of whole, unsharded weights."""
        assert self._packed is not None
        sharded = isinstance(next(self._policy().parameters()), DTensor)
        return self._packed.levers.one_pass and self.args.gradient_accumulation_steps == 1 and not sharded

    def _statistics(
        self, batch: Batch, mask: Tensor, scores: Sequence[str], live: Tensor | None = None
    ) -> TokenStatistics:
        """Of whole groups, as many at a time as a micro-batch holds; see :class:`Passes` for ``live``."""
        size = self._training_log.group_size
        head = whole_head(self._plain(self.model)).detach()
        statistics = functools.partial(
            token_statistics, group_size=size, temperature=self.temperature, scores=scores, head=head
        )
        found = []
        for rows in torch.arange(len(mask)).split(self._at_once):
            part = {name: batch[name][rows] for name in _ROLLOUT}
            states, where = self._passes.states(part, mask[rows], size, live)
            with self.accelerator.autocast():
                tokens = statistics(states, where=where, token_ids=part["completion_ids"])
            found.append(tokens.stack())
        return TokenStatistics.stacked(torch.cat(found, dim=1), scores, size)

    def _shared_out(self, batch: Batch, scores: Sequence[str]) -> TokenStatistics:
        """Statistics of rollouts that all ranks hold: each rank computes some of the groups, and gets all results."""
        mask = batch["completion_mask"].bool()
        size = self._training_log.group_size
        pieces = torch.arange(len(mask)).split(self._at_once)
        results = torch.zeros(3 + len(scores), *mask.shape, device=mask.device)
        for index, counts in rounds(self.accelerator, len(pieces)):
            rows = pieces[index]
            found = self._statistics({name: batch[name][rows] for name in _ROLLOUT}, mask[rows], scores)
            if counts:
                results[:, rows] = found.stack()
        return TokenStatistics.stacked(self.accelerator.reduce(results, "sum"), scores, size)

    def _look_again(self) -> None:
        """After an update: what it did to the tokens of the sample."""
        if self._sample is None:
            return
        started = time.perf_counter()
        tokens = self._shared_out(self._sample, ())
        mask = self._sample["completion_mask"].bool()
        self._training_log.after_update(tokens, mask, time.perf_counter() - started)
        self._sample = None

    def _policy(self) -> torch.nn.Module:
        assert self.model is not None
        return self.model

    def _plain(self, model: Any) -> Any:
        """The causal model without wrappers of ranks and adapters."""
        unwrapped = self.accelerator.unwrap_model(model)
        return unwrapped.get_base_model() if hasattr(unwrapped, "get_base_model") else unwrapped  # of adapters

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Tensor, attention_mask: Tensor, logits_to_keep: int, *args: Any, **options: Any
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """What TRL calls for the log-probs of the sampler's tokens under the old policy and the reference model."""
        if self._packed is None:
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, *args, **options
            )
        parts = {"ids": input_ids, "mask": attention_mask}
        batch = {f"prompt_{name}": part[:, :-logits_to_keep] for name, part in parts.items()}
        batch |= {f"completion_{name}": part[:, -logits_to_keep:] for name, part in parts.items()}
        mask = batch["completion_mask"].bool()
        size = self._training_log.group_size
        if self.use_vllm and self._own is None and len(mask) % size == 0:  # first of the old policy
            self._own = self._statistics(batch, mask, self._scores_now())
            return self._own.logprob, None, None
        found = [
            self._packed.log_probs(model, {name: batch[name][rows] for name in _ROLLOUT}, mask[rows])
            for rows in torch.arange(len(mask)).split(self._at_once)
        ]
        return torch.cat(found), None, None

    def _compute_loss(self, model: torch.nn.Module, inputs: Batch) -> Tensor:
        """The objective of the method specification, section 2, in the order of operations of TRL's ``grpo`` loss."""
        mask, kept = inputs["completion_mask"].bool(), inputs["kept"]
        wanted = self._passes.wanted(kept.bool(), mask, inputs["advantages"], kl=self.beta != 0.0)
        logps = self._passes.log_probs(model, inputs, wanted)
        old = inputs.get("old_per_token_logps", logps.detach())
        logps = torch.where(wanted, logps, old)
        surrogate, clipped = psi(logps - old, inputs["advantages"].unsqueeze(1), self.epsilon_low, self.epsilon_high)
        per_token = -surrogate
        if "importance_sampling_ratio" in inputs:  # the sampler is not the trainer (vLLM); the same in all arms
            per_token = per_token * inputs["importance_sampling_ratio"]
        divergence = torch.full_like(logps, torch.nan)
        if self.beta != 0.0:
            reference = inputs["ref_per_token_logps"]
            per_token = per_token + self.beta * k3(logps, reference)
            divergence = k3(inputs["logprob"], reference)  # of all tokens, wanted or not
        loss = selected_loss(per_token, kept * wanted, inputs["normaliser"])
        self._training_log.update(loss.detach(), divergence[mask], clipped[wanted])
        return loss / self.current_gradient_accumulation_steps

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if "grad_norm" in logs:
            self._look_again()
            sums = gathered_sums(self.accelerator, self._training_log.updates())
            self._training_log.finish_step(sums, logs["grad_norm"], logs["learning_rate"])
        super().log(logs, start_time)
