"""TRL's GRPOTrainer with a choice of the tokens that are trained, and nothing else changed.

The file has the order of a step: rollouts, statistics and weights (`_generate_and_score_completions`), the loss of a
micro-batch (`micro_batch_loss`), and the record of the step (`_finish_step`). The code that makes a step fast is in
`training.fast`; ``passes="dense"`` turns it off.

All private names of TRL and transformers that are used:

    _generate_and_score_completions       overridden: only between it and the shuffling of its batch is the whole
                                          rollout batch available with its advantages; no hook is called there
    _calculate_rewards                    overridden: TRL passes on only advantages, which do not determine rewards
    _generate_single_turn                 called by training.learning_curve, to sample answers as rollouts are sampled
    _get_per_token_logps_and_entropies    called by dense passes, which are TRL's own
    _last_world_entropy                   set by training.trl_arguments as by TRL's loss, which does not run here
    _init_vllm                            overridden (training.rollouts): TRL has no option for its engine's dtype
    _iter_named_params                    called there: weights for a vLLM on the CPU, for which TRL's transfer fails
    _llm_weights_sleeping                 set there, as TRL's `_init_vllm` does
    _attn_implementation                  read and set in configs (training.fast.packed_forward): only ``sdpa`` is known

Attributes of other objects are replaced, as neither TRL nor transformers has an option for them
(``tests/training/test_replaced.py`` fails once there is one):

    grpo_trainer.VLLMGeneration           training.rollouts: TRL's has one seed for all requests, and no dtype
    its engine's or client's generate     there: TRL sends one seed, or none, with all requests
    model.generate                        training.fast.sampling: TRL does not pass ``custom_generate`` on
    model.forward                         training.fast.packed_forward: wrappers for ranks must see packed passes
"""

import time
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import TrainerCallback
from trl import GRPOTrainer
from trl.trainer.utils import split_tensor_dict, use_adapter

from ict_core.errors import UserError
from ict_core.seeding import derive_seed
from ict_core.selection.base import TokenBatch
from ict_core.store.token_scores import GROUP_SCORES
from ict_core.training._kept_rollouts import NUMBER
from ict_core.training.choice import Choice
from ict_core.training.objective import k3, normaliser, reward_advantages, selected_loss, surrogate
from ict_core.training.passes import Batch, Covered, DensePasses, check_padding
from ict_core.training.ranks import gathered_sums, own_rows, whole_batch
from ict_core.training.rollouts import correct_for_sampler, take_a_port, weight_difference
from ict_core.training.token_log import TrainingLog
from ict_core.training.trl_arguments import (
    bonus_coefficient,
    check_arguments,
    clip_of,
    correction_of,
    follow_entropy,
)

_PROBE_PROMPTS = 4  # training prompts that check vLLM's weights after every transfer
_LOGGED = {  # columns of the training's log -> their names in TRL's
    "kept_share": "selection/effective_share",
    "h1": "selection/entropy",
    "h1_kept": "selection/entropy_of_kept",
    "clip_share": "selection/clipped_share",
    "kl": "selection/kl",
    "sampler_difference": "sampling/sampler_difference",
    "corrected_share": "sampling/corrected_share",
}


class SelectiveGRPOTrainer(GRPOTrainer):
    """TRL's GRPOTrainer on the tokens that a selection rule keeps, each with the weight that the rule gives it.

    ```python
    args = GRPOConfig(loss_type="grpo")
    trainer = SelectiveGRPOTrainer(model, reward, args, dataset, selection="ict-10", selection_warmup_steps=10)
    trainer.train()
    ```

    Selection happens once per rollout batch, over the groups of all ranks and before it is split into micro-batches, so
    no threshold depends on micro-batching or on the number of ranks. With every token kept (``selection="grpo"``) and
    dense passes, a run in float32 is bit-equal to TRL's own.

    All arguments are TRL's except these:

    Args:
        selection: what ``Choice.of`` takes: a name ("ict-10"), a YAML file, a rule.
        selection_warmup_steps: initial optimiser steps that train every token, if the selection does not state them.
        passes: ``dense``, TRL's own, for any model whose results do not change behind padding; or ``packed``, without
            padding and with every prefix computed once, for the families of docs/models.md.
        seed: the base of each step's seeds, for rollouts and for the rule's random draws; None: ``args.seed``.
        training_log: records each step; None: a new log without a token sample.
        probe_bound: with `training.rollouts.SeededGeneration`, how far vLLM's log-probs may be from the trainer's.

    Raises:
        UserError: the selection is unknown, ``args`` states what it is not defined for, or the passes do not fit.
    """

    model: Any
    args: Any
    processing_class: Any
    train_dataset: Any
    vllm_generation: Any
    num_generations: int

    def __init__(
        self,
        *args: Any,
        selection: Any,
        selection_warmup_steps: int | None = None,
        passes: Literal["dense", "packed"] = "dense",
        seed: int | None = None,
        training_log: TrainingLog | None = None,
        probe_bound: float | None = None,
        **kwargs: Any,
    ) -> None:
        self._choice = Choice.of(selection, selection_warmup_steps)
        config = kwargs.get("args", args[2] if len(args) > 2 else None)
        if getattr(config, "use_vllm", False):
            take_a_port()
        super().__init__(*args, **kwargs)
        self._entropy_bonus = check_arguments(self.args, self._choice.keeps_every_token, self.aux_loss_enabled)
        self._choice.check(self.num_iterations)
        self._seed = self.args.seed if seed is None else seed
        self.training_log = training_log or TrainingLog(self.num_generations, sample_every=None, sample_groups=0)
        self._updates = self.num_iterations  # per rollout batch
        self._kl_coef, self._has_reference = self.beta, bool(self.beta)  # `_kl_coef`: at the last rollouts
        self._correction = correction_of(self.args)
        # otherwise TRL would compute log-probs of vLLM's tokens by its own dense passes
        self.vllm_importance_sampling_correction = False
        self._surrogate = self._choice.surrogate or clip_of(self.args)
        tokenizer = getattr(self.processing_class, "tokenizer", self.processing_class)
        self._pad_id = int(tokenizer.pad_token_id)
        self._end_ids = getattr(self, "eos_token_ids", [tokenizer.eos_token_id])  # TRL has them from 1.15 on
        if passes == "dense":
            check_padding(self.model, self._pad_id)
        self._passes = _packed_passes(self) if passes == "packed" else DensePasses(self)
        # half precision rounds the logits of the loss, but not those of the statistics: ln p then differ by percents
        self._rounded = self.accelerator.mixed_precision != "no" or self.model.dtype.itemsize < 4
        self._covered: Covered | None = None
        if self._surrogate.kind == "kl-cov" and self._surrogate.scope == "batch":
            self._covered = Covered(self._passes, self._surrogate.share)
        # whether tokens that the loss leaves out matter: the bonus is of all, and KL-Cov chooses among all
        self._reads_all = self._entropy_bonus or (self._surrogate.kind == "kl-cov" and self._covered is None)
        self._probe_bound = probe_bound
        if probe_bound is not None:
            vllm = self.vllm_generation
            vllm.stop_ids = self._end_ids
            vllm.probe = tokenizer(self.train_dataset[:_PROBE_PROMPTS]["prompt"])["input_ids"]
            vllm.seed_of = lambda n: derive_seed(self._seed, "rollout", self.state.global_step, "request", n)
        # per rollout batch: its micro-batches in order, the weights of each update, all ranks' rows in the token sample
        self._micro_batches: list[Batch] = []
        self._weights: list[Tensor] = []
        self._sample: Batch | None = None
        self._passed = 0  # micro-batches since the last rollouts
        self._entropies: list[Tensor] = []  # of this step's response tokens, one tensor per micro-batch
        self._unlogged = 0  # steps since TRL's last log
        self.add_callback(_Steps(self))

    # --- rollouts

    def _calculate_rewards(self, inputs: list[Any], *others: Any) -> Tensor:
        """TRL's rewards, (rollouts of all ranks, functions); the weighted sums of this rank's rollouts are stored."""
        rewards: Tensor = super()._calculate_rewards(inputs, *others)
        first = self.accelerator.process_index * len(inputs)
        rows = rewards[first : first + len(inputs)]
        total = (rows * self.reward_weights.to(rows.device)).nansum(1)
        self._rewards = total.masked_fill(rows.isnan().all(1), torch.nan)
        return rewards

    def _generate_and_score_completions(self, inputs: list[Batch]) -> Batch:
        """TRL's rollouts with their advantages, and everything else that the loss needs for this rank's rows.

        These are ``rewards`` (B,); for each update ``normaliser <update>`` (B,) and ``weights <update>`` (B, T);
        ``logprob`` and, with a KL term, ``ref_per_token_logps`` (B, T); with an entropy bonus ``mean length`` (B,);
        with vLLM ``old_per_token_logps`` and ``importance_sampling_ratio``.
        """
        if not self.model.training:  # TRL's evaluation
            return super()._generate_and_score_completions(inputs)
        step, rank = self.state.global_step, self.accelerator.process_index
        self._check_step(step)
        started = time.perf_counter()
        key = ("rank", rank) if rank else ()
        torch.manual_seed(derive_seed(self._seed, "rollout", step, *key))  # transformers samples from that generator
        self._kl_coef = self.beta
        # otherwise TRL would compute old and reference log-probs by its own dense passes
        self.num_iterations, self.beta = 1, 0.0
        try:
            batch = super()._generate_and_score_completions(inputs)
        finally:
            self.num_iterations, self.beta = self._updates, self._kl_coef
        if "pixel_values" in batch:
            raise UserError(
                "images are not allowed with a selection of tokens: statistics and loss read the text alone; "
                "train such a run by TRL's GRPOTrainer"
            )
        if "tool_mask" in batch:
            raise UserError(
                "tools, environments and masks of a rollout_func are not allowed with a selection of tokens: "
                "what they wrote would be chosen and trained as the model's own; train such a run by TRL's GRPOTrainer"
            )
        columns = {}
        if self._probe_bound is not None:  # before the rollouts are used
            vllm, bound = self.vllm_generation, self._probe_bound
            difference = weight_difference(vllm, self.accelerator, self.model, bound=bound, step=step)
            columns["probe_difference"] = difference
        batch["rewards"] = self._rewards
        if NUMBER in inputs[0]:
            batch[NUMBER] = torch.tensor([row[NUMBER] for row in inputs], device=self._rewards.device)
        if self._choice.advantage == "reward":
            batch["advantages"] = reward_advantages(self._rewards)
        if self._kl_coef != 0.0:
            batch["ref_per_token_logps"] = self._reference_log_probs(batch)
        generated = time.perf_counter()
        self._select_tokens(batch, step)
        if self._covered is not None:
            self._covered.rollouts(batch)
        if self._correction is not None:
            old = self._passes.sampled_log_probs(batch)
            columns |= correct_for_sampler(self.accelerator, batch, old, self._correction)
        self.training_log.add(**columns)
        self.training_log.times(step, rollout_s=generated - started, statistics_s=time.perf_counter() - generated)
        self._micro_batches = split_tensor_dict(batch, self.args.gradient_accumulation_steps)
        self._passed = 0
        return batch

    def _check_step(self, step: int) -> None:
        """Raise a UserError if a step cannot begin with rollouts, no step would select, or a reference is missing."""
        if step % self._updates:  # TRL always resumes with new rollouts
            raise UserError(
                f"a checkpoint of step {step}, amid the {self._updates} updates of a rollout batch, cannot be resumed; "
                f"go on from one of a multiple of num_iterations ({self._updates}), and let save_steps be such a number"
            )
        steps, warmup = self.state.max_steps, self._choice.warmup_steps
        if 0 < steps <= warmup:
            allowed = f"less than the {steps} steps of the training (else nothing is selected)"
            raise UserError(f"selection_warmup_steps: {warmup} is not allowed; allowed: {allowed}")
        if warmup % self._updates:
            allowed = f"a multiple of num_iterations ({self._updates}), as tokens are selected with the rollouts"
            raise UserError(f"selection_warmup_steps: {warmup} is not allowed; allowed: {allowed}")
        if self.beta and not self._has_reference:
            why = "TRL makes no reference model where GRPOConfig's beta is 0"
            raise UserError(f"trainer.beta: {self.beta} is not allowed, as {why}; allowed: 0, or state it there too")

    def _reference_log_probs(self, batch: Batch) -> Tensor:
        """ln p of the response tokens, (B, T), under the reference model; for new adapters, the model without them."""
        if self.ref_model is not None:
            return self._passes.all_log_probs(self.ref_model, batch)
        model = self.accelerator.unwrap_model(self.model)
        with use_adapter(model, "ref" if "ref" in model.peft_config else None):
            return self._passes.all_log_probs(self.model, batch)

    # --- statistics and weights

    def _select_tokens(self, batch: Batch, step: int) -> None:
        """Compute statistics and weights of the whole batch, and add this rank's rows of the weights to ``batch``."""
        gathered = whole_batch(self.accelerator, batch, self._pad_id)
        mask, advantages = gathered["completion_mask"].bool(), gathered["advantages"]
        sampled = self.training_log.sampled(step)
        scores = self._choice.scores if not sampled else tuple(dict.fromkeys([*GROUP_SCORES, *self._choice.scores]))
        live = torch.ones_like(mask[:, 0]) if self._penalised else advantages != 0
        tokens = self._passes.statistics(gathered, scores, live)
        self._sample = {k: v[: self.training_log.sample_rows] for k, v in gathered.items()} if sampled else None
        selecting, counted = step >= self._choice.warmup_steps, mask
        update_weights = [mask for _ in range(self._updates)]
        if selecting:
            if self._choice.advantage == "reward":  # an answer neither right nor wrong has no part in the loss
                counted = mask & (advantages != 0).unsqueeze(-1)
            decisions = self._choice.decided(gathered, self.processing_class)
            inputs = TokenBatch(tokens, advantages, counted, gathered["completion_ids"], decisions=decisions)
            seed = derive_seed(self._seed, "selection", step)
            rule = self._choice.rule
            update_weights = [rule.weights(replace(inputs, update=update), seed) for update in range(self._updates)]
        values = {"logprob": tokens.logprob}
        if self._entropy_bonus:
            values["mean length"] = normaliser("batch_tokens", mask, mask)
        for update, weights in enumerate(update_weights):
            counts = normaliser(self._choice.normaliser if selecting else "response", weights > 0, counted)
            values |= {f"weights {update}": weights.float(), f"normaliser {update}": counts}
        batch |= {name: own_rows(self.accelerator, value, batch["completion_mask"]) for name, value in values.items()}
        self._weights = update_weights
        stops = torch.tensor(self._end_ids, device=mask.device)
        truncated = ~(torch.isin(gathered["completion_ids"], stops) & mask).any(-1)
        self.training_log.rollouts(step, gathered, tokens, update_weights[0], truncated, selecting=selecting)

    @property
    def _penalised(self) -> bool:
        """Whether the loss has a term that does not vanish where A = 0."""
        return self._kl_coef != 0.0 or self._surrogate.kind == "kl-cov" or self._entropy_bonus

    # --- the loss

    def compute_loss(
        self, model: Any, inputs: Batch, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Tensor:
        """The loss of TRL's micro-batch, or of the next one in the order of the groups."""
        if not self.model.training:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if self._passes.in_order:
            inputs = self._micro_batches[self._passed % len(self._micro_batches)]
        self._passed += 1
        return self.micro_batch_loss(model, inputs)

    def micro_batch_loss(self, model: torch.nn.Module, inputs: Batch) -> Tensor:
        """The loss of the method specification, section 2, in the order of operations of TRL's ``grpo`` loss."""
        update = self.state.global_step % self._updates
        mask, weights = inputs["completion_mask"].bool(), inputs[f"weights {update}"]
        live = (inputs["advantages"] != 0).unsqueeze(1) | self._penalised
        kept = weights > 0
        read = trained = live & kept
        if self._rounded and not update:  # the later updates need ln p of their tokens by this pass
            read = live & (sum(inputs[f"weights {number}"] for number in range(self._updates)) > 0)
        wanted = self._passes.wanted(mask if self._reads_all else read, mask)
        bound = None if self._covered is None else self._covered.chosen(inputs["row"], update)
        outputs = self._passes.log_probs(model, inputs, wanted, entropy=self._entropy_bonus)
        logps = outputs[0] if self._entropy_bonus else outputs
        # the policy that sampled is the one before the first update
        if self._rounded:
            old = inputs.setdefault("first_logps", torch.where(wanted, logps.detach(), inputs["logprob"]))
        else:
            old = inputs.get("old_per_token_logps", inputs["logprob"] if update else logps.detach())
        logps = torch.where(wanted, logps, old)
        gain, clipped = surrogate(self._surrogate, logps, old, inputs["advantages"].unsqueeze(1), mask, bound)
        per_token = -gain
        if "importance_sampling_ratio" in inputs:  # vLLM is the sampler; the same correction in all arms
            per_token = per_token * inputs["importance_sampling_ratio"]
        divergence = torch.full_like(logps, torch.nan)
        if self._kl_coef != 0.0:
            reference = inputs["ref_per_token_logps"]
            per_token = per_token + self._kl_coef * k3(logps, reference)
            divergence = k3(inputs["logprob"], reference)  # over all response tokens, wanted or not
        loss = selected_loss(per_token, weights * wanted, inputs[f"normaliser {update}"])
        if self._entropy_bonus:  # as in TRL, but its mean is over all tokens of the batch, however it is split
            loss = loss - bonus_coefficient(self) * selected_loss(outputs[1], mask, inputs["mean length"])
            self._entropies.append(outputs[1].detach()[mask])
        self.training_log.update(loss.detach(), divergence[mask], (clipped & trained)[kept])
        return loss / self.current_gradient_accumulation_steps

    # --- after the optimiser's step

    def _finish_step(self) -> None:
        """Record what the step did to the sampled tokens, and complete the step's record."""
        if self._passed > len(self._micro_batches):  # another update on the rollouts of the step before
            self.training_log.repeat(self._weights[self._passed // len(self._micro_batches) - 1])
        last = self.state.global_step % self._updates == 0  # `global_step` counts this step already
        if self._sample is not None and last:
            started = time.perf_counter()
            tokens = self._passes.statistics(self._sample, ())
            mask = self._sample["completion_mask"].bool()
            self.training_log.after_update(tokens, mask, time.perf_counter() - started)
            self._sample = None
        follow_entropy(self, self._entropies)
        self._entropies = []
        self.training_log.finish_step(gathered_sums(self.accelerator, self.training_log.updates()))
        self._unlogged += 1

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """TRL's log, with the means of the columns in `_LOGGED` over the steps since the last one.

        Called by transformers after every ``logging_steps`` steps, and once more at the end without a gradient norm.
        """
        if "grad_norm" in logs:
            self.training_log.add(grad_norm=float(logs["grad_norm"]), learning_rate=float(logs["learning_rate"]))
            logs |= self.training_log.means(_LOGGED, self._unlogged)
            self._unlogged = 0
        super().log(logs, start_time)


def _packed_passes(trainer: SelectiveGRPOTrainer) -> DensePasses:
    """The packed passes; imported on demand, as they do not work with every TRL that dense passes work with."""
    if trainer.args.cast_lm_head_to_fp32:
        raise UserError("GRPOConfig: cast_lm_head_to_fp32=True is not allowed with packed passes; set passes='dense'")
    try:
        from ict_core.training.fast.passes import PackedPasses
    except ImportError as error:
        raise UserError(f"passes: packed needs another TRL ({error}); allowed: dense, or TRL 1.16") from error
    return PackedPasses(trainer)


class _Steps(TrainerCallback):
    """Has a trainer record its optimiser steps; the time before the first and that of an evaluation count for none."""

    def __init__(self, trainer: SelectiveGRPOTrainer) -> None:
        self._trainer = trainer

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self._trainer.training_log.start()

    on_evaluate = on_train_begin

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Called by transformers before it logs and saves."""
        self._trainer._finish_step()
