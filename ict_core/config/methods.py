"""How models are trained: `configs/training/<name>.yaml`, the one GRPO recipe that all methods of a study share, and
what every file of `configs/methods` states; the selectors have theirs in :mod:`ict_core.config.selectors`.
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
    """Of the mismatch between the sampler's and the trainer's probabilities of a token: its ratio enters the loss.

    Ratios outside the bounds are set to the bound (`truncate`) or their tokens are dropped (`mask`), by token or by the
    whole sequence's ratio. TRL's `vllm_importance_sampling_mode`.
    """

    mode: Literal["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"]
    clip_min: Share | None = None  # absent: no lower bound
    clip_max: float = Field(gt=1, le=1000)


class Rollouts(Section):
    """Rollouts by vLLM, to which the weights go before every step."""

    engine: Literal["vllm-colocate", "vllm-server"]  # beside the trainer on its GPUs, or a server of its own
    memory_share: Share | None = None  # of each GPU, to vLLM-colocate
    sleep: bool | None = None  # whether vLLM-colocate gives its memory back during the update
    server: str | None = Field(
        default=None, pattern=r"^https?://[^\s/@]+(/\S*)?$", description="the address of a vLLM server"
    )
    correction: Correction
    probe_bound: Weight  # nats: mean difference between vLLM's and the trainer's log-probs after a sync

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
    """Rollouts, optimiser and loss. What a method changes stands in its own file, never here."""

    prompts_per_step: Count
    group_size: Group  # rollouts a prompt; one alone has no advantage
    steps: Count  # optimiser steps, one a rollout batch unless `updates_per_rollout` says otherwise
    updates_per_rollout: Count | None = Field(default=None, exclude_if=is_absent)  # of each whole batch; absent: 1
    learning_rate: Rate
    lr_warmup_steps: Steps
    lr_schedule: Literal["linear"] | None = Field(default=None, exclude_if=is_absent)  # to 0; absent: constant
    weight_decay: float = Field(ge=0, le=1000)
    grad_clip: Weight
    adam_betas: tuple[Beta, Beta]
    kl_coef: float = Field(ge=0, le=1000)
    clip_low: float = Field(gt=0, lt=1)
    clip_high: Weight
    temperature: Temperature
    max_prompt_tokens: Count | None = None  # training problems with longer prompts are left out; absent: none is
    max_new_tokens: Count
    micro_batch_sequences: Count  # rollouts in one forward pass of one process
    precision: Literal["float32", "bfloat16"]
    passes: Literal["packed", "dense"] = "packed"  # dense: TRL's own, padded and slower
    rollouts: Rollouts | None = None  # absent: transformers' `generate`, in the trainer (training/fast/sampling.py)
    lora: Lora | None = None  # absent: all weights are trained
    threads: Threads
    token_sample_every: Count  # steps between two rows of the token log
    token_sample_groups: Count  # groups written to it each time
    checkpoint_every: Count | None = None  # steps between two checkpoints to resume from; absent: there is none
    checkpoints_kept: Count = 2  # of a training under way, the newest; the second for when the first turns out damaged

    def faults(self) -> Iterator[Fault]:
        rollouts, rows = self.sequences_per_step, self.micro_batch_sequences
        if rollouts > 1_000_000:
            yield refused("prompts_per_step", self.prompts_per_step, "at most 1000000 rollouts in a step")
        if rollouts % rows:
            yield refused("micro_batch_sequences", rows, f"a divisor of prompts_per_step * group_size = {rollouts}")
        yield from unnamed("learning_rate", self.learning_rate)
        if self.lr_warmup_steps >= self.steps:
            yield refused("lr_warmup_steps", self.lr_warmup_steps, f"less than steps = {self.steps}")
        for key in ("steps", "checkpoint_every"):  # a batch of rollouts is no part of a checkpoint
            if (getattr(self, key) or 0) % self.updates:
                yield refused(key, getattr(self, key), f"a multiple of updates_per_rollout = {self.updates}")

    def dump(self) -> dict[str, Any]:
        """The recipe as JSON-able values, but for what changes no result."""
        return self.model_dump(mode="json", exclude={"checkpoint_every", "checkpoints_kept"})

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
        """What all rollouts of a training take on the disk at most, about, where they are kept.

        16 bytes a token (its number, ln p, weight and text), 200 a rollout, 16 KiB a file; compressed it is less.
        """
        rollouts = 200 + 16 * self.max_new_tokens
        return self.steps // self.updates * (16_384 + self.sequences_per_step * rollouts)

    def accumulation_steps(self, processes: int) -> int:
        """Micro-batches in one optimiser step of each process."""
        return self.sequences_per_step // (self.micro_batch_sequences * processes)


def rows_of_groups(group_size: int, micro_batch: int) -> int:
    """Rollouts of the whole groups whose statistics, and packed log-probs, are taken in one pass."""
    return group_size * max(1, micro_batch // group_size)


Normaliser = Literal["kept", "response", "batch_tokens", "batch_kept"]
"""What a sequence's sum over its kept tokens is divided by: the number of its kept tokens, of all its response
tokens, or (one number for the whole batch) the mean over sequences of either."""


class Clip(Section):
    """PPO's clipped ratio with bounds of its own: clip-higher (DAPO, arXiv:2503.14476)."""

    kind: Literal["clip"]
    low: float = Field(gt=0, lt=1)
    high: Weight


class Cispo(Section):
    """The ratio, cut above and without a gradient, as the weight of A ln p (arXiv:2506.13585)."""

    kind: Literal["cispo"]
    high: Weight


class DppoTv(Section):
    """Tokens whose probability has moved too far where A points are left out (arXiv:2602.04879)."""

    kind: Literal["dppo-tv"]
    low: float = Field(gt=0, lt=1)
    high: float = Field(gt=0, lt=1)


class KlCov(Section):
    """No clip, and a penalty on the change of ln p where its covariance with A is largest (arXiv:2505.22617)."""

    kind: Literal["kl-cov"]
    share: float = Field(gt=0, lt=1)  # of the response tokens of a micro-batch, or of the whole batch
    coefficient: Weight
    scope: Literal["batch"] | None = Field(default=None, exclude_if=is_absent)  # absent: each micro-batch by itself


Surrogate = Annotated[Clip | Cispo | DppoTv | KlCov, Field(discriminator="kind")]
"""What stands in place of the recipe's clipped surrogate: the same where p has not changed since the rollouts."""


class EntropyBonus(Section):
    """The mean entropy of the response tokens as a part of the objective; `coefficient` is TRL's `entropy_coef`.

    Fixed; or adaptive (Skywork-OR1, arXiv:2505.22312): after each step it rises by `delta` where the mean entropy is at
    most `target`, else it falls, between 0 and 1, and it counts only after a step with so little entropy.
    """

    coefficient: float = Field(ge=0, le=1000)  # a nat; of the adaptive one the first
    # nats; absent: the coefficient is fixed
    target: Weight | None = Field(default=None, exclude_if=is_absent)
    delta: Annotated[float, Field(gt=0, le=1)] | None = Field(default=None, exclude_if=is_absent)

    def faults(self) -> Iterator[Fault]:
        if (self.target is None) != (self.delta is None):
            yield refused("delta", self.delta, "a number together with target, and neither without the other")
        if self.target is None and self.coefficient == 0:
            yield refused("coefficient", 0, "above 0, as it is fixed")

    def arguments(self) -> dict[str, Any]:
        """TRL's arguments for it."""
        fixed = {"entropy_coef": self.coefficient}
        if self.target is None:
            return fixed
        adaptive = {"entropy_target": self.target, "entropy_coef_delta": self.delta}
        return {**fixed, **adaptive, "use_adaptive_entropy": True}


Source = Literal["code", "paper", "summary", "ours"]
"""What a rule was written from: code that was read, its paper, what others say of either, or nothing published."""

Control = Literal[
    "permuted-sequence", "permuted-group", "permuted-batch",
    "permuted-group-same-sign", "permuted-batch-same-sign", "mean-one",
]  # fmt: skip
"""What stands in place of a rule's weights, to tell what choosing tokens does from what weighing so many does."""

Factor = Literal[
    "advantage", "batch", "control", "entropy_bonus", "surrogate",
    "group_size", "keep", "normaliser", "percent", "random_reward", "reference", "replica", "scope", "score", "tau_h",
    "threshold", "warmup_steps",
]  # fmt: skip


class Batch(Section):
    """How many prompts a step and how many steps, in place of the recipe's."""

    prompts_per_step: Count
    steps: Count
    warmup_steps: Steps  # of the learning rate and, where a rule has one, of the selection

    def faults(self) -> Iterator[Fault]:
        if self.warmup_steps >= self.steps:
            yield refused("warmup_steps", self.warmup_steps, f"less than steps = {self.steps}")


class Variation(Section):
    """The variant that a method's file is `of`, and the key by which it differs: the other one that the file states."""

    of: Name
    factor: Factor


class Method(Section):
    """What every variant states, whatever its selector."""

    selector: str  # narrowed to a literal by each section of a selector
    source: Source | None = Field(default=None, exclude=True)  # of the rule, which nothing but a bench's table shows
    warmup_steps: ClassVar[int | None]  # a key of the selectors that have a warm-up
    ranks_by: ClassVar[str | None] = None  # the statistic by which the rule ranks tokens, if it is no parameter
    two_updates: ClassVar[bool] = False  # whether the rule is about a second update on the same rollouts
    entropy_bonus: ClassVar[EntropyBonus | None]  # a key of the selector that keeps every token; others have none
    known_steps: ClassVar[bool] = False  # whether the rule reads the true steps, which generated problems alone have
    normaliser: Normaliser
    group_size: Group | None = None  # in place of the recipe's, with as many rollouts a step
    batch: Batch | None = Field(default=None, exclude_if=is_absent)  # absent: the recipe's
    random_reward: Annotated[float, Field(gt=0, lt=1)] | None = None  # chance of reward 1, in place of the verifier
    surrogate: Surrogate | None = Field(default=None, exclude_if=is_absent)  # absent: the recipe's clipped ratio
    advantage: Literal["reward"] | None = Field(default=None, exclude_if=is_absent)  # 2 R - 1; absent: GRPO's by group
    control: Control | None = Field(default=None, exclude_if=is_absent)  # of its weights; absent: the rule itself
    replica: Steps | None = None  # a repetition: 0 with the same random numbers, any other with its own
    ablation: Variation | None = None  # a file states it by `of`

    @property
    def warmup(self) -> int | None:
        """Optimiser steps that train every token before the mask is on; None where a study has to say it."""
        return getattr(self, "warmup_steps", 0)

    def parameters(self) -> dict[str, Any]:
        """The keyword arguments of the selection rule: what its section states beside what every variant does."""
        return {key: getattr(self, key) for key in type(self).model_fields if key not in Method.model_fields}

    @classmethod
    def percent_kept(cls, stated: Mapping[str, Any]) -> float | None:
        """The percent of the tokens that such a rule keeps by its own parameter, from what a variant states.

        None of a rule that has no such parameter.
        """
        return None

    def recipe(self, training: Training) -> Training:
        """A recipe as this variant changes it: its own batch, its own group size with as many rollouts a step."""
        if self.batch is not None:
            own = self.batch
            sizes = {"prompts_per_step": own.prompts_per_step, "steps": own.steps, "lr_warmup_steps": own.warmup_steps}
            training = training.changed(**sizes)
        if self.group_size is not None:
            prompts = training.sequences_per_step // self.group_size
            training = training.changed(group_size=self.group_size, prompts_per_step=prompts)
        return training

    def rule(self) -> list[Any]:
        """What says how tokens are weighed, as JSON-able values."""
        stated = [self.selector, {key: str(value) for key, value in self.parameters().items()}]
        return stated if self.control is None else [*stated, self.control]

    def settings(self) -> dict[str, Any]:
        """All that determines a training, as JSON-able values: not what it is compared with."""
        return self.model_dump(mode="json", exclude={"ablation"})
