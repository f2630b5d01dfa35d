"""`configs/training/<name>.yaml`: the one GRPO recipe that all methods of a study share."""

from typing import Annotated, Literal

from pydantic import Field

from ict_core.config.section import Count, Section

Beta = Annotated[float, Field(ge=0, lt=1)]


class Training(Section):
    """Rollouts, optimiser and loss. What a method changes stands in its own file, never here."""

    prompts_per_step: Count
    group_size: int = Field(ge=2)  # rollouts a prompt; one alone has no advantage
    steps: Count  # optimiser steps, one a rollout batch
    learning_rate: float = Field(gt=0)
    lr_warmup_steps: int = Field(ge=0)
    weight_decay: float = Field(ge=0)
    grad_clip: float = Field(gt=0)
    adam_betas: tuple[Beta, Beta]
    kl_coef: float = Field(ge=0)
    clip_low: float = Field(gt=0, lt=1)
    clip_high: float = Field(gt=0)
    temperature: float = Field(gt=0)
    max_new_tokens: Count
    micro_batch_sequences: Count
    precision: Literal["float32", "bfloat16"]
    threads: Count
    token_sample_every: Count  # steps between two rows of the token log
    token_sample_groups: int = Field(ge=0)  # groups written to it each time

    @property
    def sequences_per_step(self) -> int:
        """Rollouts in one optimiser step."""
        return self.prompts_per_step * self.group_size

    @property
    def accumulation_steps(self) -> int:
        """Micro-batches in one optimiser step."""
        return self.sequences_per_step // self.micro_batch_sequences
