"""How models are trained: the GRPO recipe that all methods of a study share (`configs/training/<name>.yaml`), and the
keys of every file of `configs/methods`. The keys of the selectors are in :mod:`ict_core.config.selectors`.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ict_core.config.mistakes import Fault, refused
from ict_core.config.section import Count, Name, Rate, Section, Steps, Temperature, Threads, Weight, is_absent
from ict_core.config.tuning import unnamed

Group = Annotated[int, Field(ge=2, le=10_000)]
Beta = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(gt=0, lt=1)]


class Correction(Section):
    """Correction for the mismatch between the sampler's and the trainer's probability of a token, by their ratio.

    The loss is multiplied by the ratio of the token or of the whole sequence. Ratios outside the bounds are set to the
    bound (`truncate`), or their tokens are dropped (`mask`). TRL's `vllm_importance_sampling_mode`.
    """

    mode: Literal["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"]
    clip_min: Share | None = None  # absent: no lower bound
    clip_max: float = Field(gt=1, le=1000)


class Rollouts(Section):
    """Rollouts by vLLM, which gets the current weights before it samples."""

    engine: Literal["vllm-colocate", "vllm-server"]  # on the trainer's GPUs, or a separate server
    memory_share: Share | None = None  # share of each GPU's memory for vllm-colocate
    sleep: bool | None = None  # whether vllm-colocate frees its memory during the update
    server: str | None = Field(
        default=None, pattern=r"^https?://[^\s/@]+(/\S*)?$", description="the address of a vLLM server"
    )
    correction: Correction
    probe_bound: Weight  # largest mean difference between vLLM's and the trainer's log-probs after a sync, nats

    def faults(self) -> Iterator[Fault]:
        colocated = self.engine == "vllm-colocate"
        for key, needed in (("memory_share", colocated), ("sleep", colocated), ("server", not colocated)):
            value = getattr(self, key)
            if needed and value is None:
                yield Fault(key, f"missing; allowed: a value, as rollouts.engine is {self.engine}")
            if not needed and value is not None:
                yield refused(key, value, f"nothing, as rollouts.engine is {self.engine}")


class Lora(Section):
    """Low-rank adapters on all linear layers but the head (arXiv:2106.09685), in place of full fine-tuning."""

    rank: Count
    alpha: Count


class Training(Section):
    """Rollouts, optimiser and loss. What a method changes is in the method's own file, never here."""

    prompts_per_step: Count
    group_size: Group  # rollouts per prompt; a single rollout has no advantage
    steps: Count  # optimiser steps, one per rollout batch unless `updates_per_rollout` is set
    updates_per_rollout: Count | None = Field(default=None, exclude_if=is_absent)  # steps per rollout batch; absent: 1
    learning_rate: Rate
    lr_warmup_steps: Steps
    lr_schedule: Literal["linear"] | None = Field(default=None, exclude_if=is_absent)  # linear: to 0; absent: constant
    weight_decay: float = Field(ge=0, le=1000)
    grad_clip: Weight
    adam_betas: tuple[Beta, Beta]
    kl_coef: float = Field(ge=0, le=1000)
    clip_low: float = Field(gt=0, lt=1)
    clip_high: Weight
    temperature: Temperature
    max_prompt_tokens: Count | None = None  # training problems with longer prompts are left out; absent: no limit
    max_new_tokens: Count
    micro_batch_sequences: Count  # rollouts in one forward pass of one process
    precision: Literal["float32", "bfloat16"]
    passes: Literal["packed", "dense"] = "packed"  # dense: TRL's own forward passes, padded and slower
    rollouts: Rollouts | None = None  # absent: transformers' `generate`, in the trainer (training/fast/sampling.py)
    lora: Lora | None = None  # absent: all weights are trained
    threads: Threads
    token_sample_every: Count  # steps between two samples for the token log
    token_sample_groups: Count  # groups in each of these samples
    checkpoint_every: Count | None = Field(default=None, exclude=True)  # steps between two checkpoints; absent: none
    checkpoints_kept: Count = Field(default=2, exclude=True)  # newest kept to resume from; the second if one is damaged

    def faults(self) -> Iterator[Fault]:
        rollouts, rows = self.sequences_per_step, self.micro_batch_sequences
        if rollouts > 1_000_000:
            yield refused("prompts_per_step", self.prompts_per_step, "at most 1000000 rollouts in a step")
        if rollouts % rows:
            yield refused("micro_batch_sequences", rows, f"a divisor of prompts_per_step * group_size = {rollouts}")
        yield from unnamed("learning_rate", self.learning_rate)
        if self.lr_warmup_steps >= self.steps:
            yield refused("lr_warmup_steps", self.lr_warmup_steps, f"less than steps = {self.steps}")
        for key in ("steps", "checkpoint_every"):  # a checkpoint does not hold a rollout batch
            if (getattr(self, key) or 0) % self.updates:
                yield refused(key, getattr(self, key), f"a multiple of updates_per_rollout = {self.updates}")
        if self.token_sample_every > 1 and self.token_sample_every % self.updates:  # a sample is of a rollout batch
            allowed = f"1, or a multiple of updates_per_rollout = {self.updates}"
            yield refused("token_sample_every", self.token_sample_every, allowed)

    @property
    def updates(self) -> int:
        """Optimiser steps on each rollout batch."""
        return self.updates_per_rollout or 1

    @property
    def sequences_per_step(self) -> int:
        """Rollouts in one optimiser step."""
        return self.prompts_per_step * self.group_size

    @property
    def rollout_bytes(self) -> int:
        """The disk space of all rollouts of a training where they are kept, bytes: a rough upper limit.

        16 bytes per token (its id, ln p, weight and text), 200 per rollout, 16 KiB per file; compression makes it less.
        """
        rollouts = 200 + 16 * self.max_new_tokens
        return self.steps // self.updates * (16_384 + self.sequences_per_step * rollouts)

    def accumulation_steps(self, processes: int) -> int:
        """Micro-batches per process in one optimiser step."""
        return self.sequences_per_step // (self.micro_batch_sequences * processes)


Normaliser = Literal["kept", "response", "batch_tokens", "batch_kept"]
"""The divisor of a sequence's sum over its kept tokens: the number of its kept tokens (`kept`) or of its response
tokens (`response`), or the batch's mean number of response (`batch_tokens`) or kept tokens (`batch_kept`)."""


class Clip(Section):
    """PPO's clipped ratio with bounds of its own: clip-higher (DAPO, arXiv:2503.14476)."""

    kind: Literal["clip"]
    low: float = Field(gt=0, le=1)
    high: Weight


class Cispo(Section):
    """A ln p, weighted by the ratio, which is cut at an upper bound and has no gradient (arXiv:2506.13585)."""

    kind: Literal["cispo"]
    high: Weight


class DppoTv(Section):
    """Tokens whose probability has moved too far in the direction of A are left out (arXiv:2602.04879)."""

    kind: Literal["dppo-tv"]
    low: float = Field(gt=0, lt=1)
    high: float = Field(gt=0, lt=1)


class KlCov(Section):
    """No clip; a penalty on the change of ln p where the covariance of ln p and A is largest (arXiv:2505.22617)."""

    kind: Literal["kl-cov"]
    share: float = Field(gt=0, lt=1)  # penalised share of the response tokens of a micro-batch, or of the whole batch
    coefficient: Weight
    scope: Literal["batch"] | None = Field(default=None, exclude_if=is_absent)  # absent: each micro-batch by itself


Surrogate = Annotated[Clip | Cispo | DppoTv | KlCov, Field(discriminator="kind")]
"""Replacements for the recipe's clipped surrogate; their gradients are equal while p is that of the rollouts."""


class EntropyBonus(Section):
    """A term of the objective: the mean entropy of the response tokens times `coefficient` (TRL's `entropy_coef`).

    It is fixed or adaptive (Skywork-OR1, arXiv:2505.22312). An adaptive one rises by `delta` after a step with a mean
    entropy of at most `target`, else falls, between 0 and 1. It counts only after a step with so little entropy.
    """

    coefficient: float = Field(ge=0, le=1000)  # per nat; the first value where it is adaptive
    target: Weight | None = Field(default=None, exclude_if=is_absent)  # nats; absent: the coefficient is fixed
    delta: Annotated[float, Field(gt=0, le=1)] | None = Field(default=None, exclude_if=is_absent)

    def faults(self) -> Iterator[Fault]:
        if (self.target is None) != (self.delta is None):
            yield refused("delta", self.delta, "a number together with target, and neither without the other")
        if self.target is None and self.coefficient == 0:
            yield refused("coefficient", 0, "above 0, as it is fixed")


Source = Literal["code", "paper", "summary", "ours"]
"""What a rule was written from: published code, its paper, a summary of either by others, or nothing published."""

Control = Literal[
    "permuted-sequence", "permuted-group", "permuted-batch",
    "permuted-group-same-sign", "permuted-batch-same-sign", "mean-one",
]  # fmt: skip
"""Replacements for a rule's weights: they separate the effect of which tokens it chooses from that of how many."""

Factor = Literal[
    "advantage", "batch", "control", "entropy_bonus", "surrogate",
    "group_size", "keep", "normaliser", "percent", "random_reward", "reference", "replica", "scope", "score", "tau_h",
    "threshold", "warmup_steps",
]  # fmt: skip


class Batch(Section):
    """The prompts per step and the number of steps, in place of the recipe's."""

    prompts_per_step: Count
    steps: Count
    warmup_steps: Steps  # warm-up of the learning rate and, where a rule has one, of the selection

    def faults(self) -> Iterator[Fault]:
        if self.warmup_steps >= self.steps:
            yield refused("warmup_steps", self.warmup_steps, f"less than steps = {self.steps}")


class Variation(Section):
    """The variant that a method's file varies (`of`), and the key by which they differ: the other key of the file."""

    of: Name
    factor: Factor


class Method(Section):
    """The keys of every variant, whatever its selector."""

    selector: str  # the selector's name; its section narrows the type to it
    source: Source | None = Field(default=None, exclude=True)  # source of the rule, shown only in a bench's table
    warmup_steps: ClassVar[int | None]  # a key of the selectors that have a warm-up
    ranks_by: ClassVar[str | None] = None  # the statistic by which the rule ranks tokens, unless a parameter names it
    keeps_every_token: ClassVar[bool] = False  # whether the rule is GRPO's, unless it has a control
    two_updates: ClassVar[bool] = False  # whether the rule needs a second update on the same rollouts
    entropy_bonus: ClassVar[EntropyBonus | None]  # a key of the selector that keeps every token
    known_steps: ClassVar[bool] = False  # whether the rule reads the true steps, which only generated problems have
    normaliser: Normaliser
    group_size: Group | None = None  # in place of the recipe's; the rollouts per step stay as many
    batch: Batch | None = Field(default=None, exclude_if=is_absent)  # absent: the recipe's
    random_reward: Annotated[float, Field(gt=0, lt=1)] | None = None  # the chance of reward 1, in place of the verifier
    surrogate: Surrogate | None = Field(default=None, exclude_if=is_absent)  # absent: the recipe's clipped ratio
    advantage: Literal["reward"] | None = Field(default=None, exclude_if=is_absent)  # 2 R - 1; absent: GRPO's
    control: Control | None = Field(default=None, exclude_if=is_absent)  # replaces the rule's weights; absent: none
    replica: Steps | None = None  # a repeated training: 0 with the same random numbers, any other number with its own
    ablation: Variation | None = None  # a file states it as `of`

    @property
    def warmup(self) -> int | None:
        """Optimiser steps that train every token before the mask is on; None where the study has to state them."""
        return getattr(self, "warmup_steps", 0)

    @property
    def at_random(self) -> bool:
        """Whether chance says which tokens it keeps."""
        return str(self.control).startswith("permuted")

    def parameters(self) -> dict[str, Any]:
        """The keyword arguments of the selection rule: the keys of its section, without those of every variant."""
        return {key: getattr(self, key) for key in type(self).model_fields if key not in Method.model_fields}

    @classmethod
    def percent_kept(cls, stated: Mapping[str, Any]) -> float | None:
        """The percent of the tokens that the rule keeps, from the parameters that a variant states.

        None for a rule without such a parameter.
        """
        return None

    def recipe(self, training: Training) -> Training:
        """A recipe with this variant's changes: its own batch, its own group size with as many rollouts per step."""
        if self.batch is not None:
            own = self.batch
            sizes = {"prompts_per_step": own.prompts_per_step, "steps": own.steps, "lr_warmup_steps": own.warmup_steps}
            training = training.changed(**sizes)
        if self.group_size is not None:
            prompts = training.sequences_per_step // self.group_size
            training = training.changed(group_size=self.group_size, prompts_per_step=prompts)
        return training

    def rule(self) -> list[Any]:
        """Everything that determines the weights of tokens, as JSON-able values."""
        stated = [self.selector, {key: str(value) for key, value in self.parameters().items()}]
        return stated if self.control is None else [*stated, self.control]

    def settings(self) -> dict[str, Any]:
        """Everything that determines a training, as JSON-able values, without the variant that it is compared with."""
        return self.model_dump(mode="json", exclude={"ablation"})
