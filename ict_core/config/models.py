"""`configs/models/<name>.yaml`: where a base model comes from."""

from typing import Literal

from pydantic import Field

from ict_core.config.section import Count, Section, Seed


class Architecture(Section):
    """A decoder with rotary positions and grouped-query attention (Qwen2's, at any size)."""

    hidden_size: Count
    layers: Count
    heads: Count
    kv_heads: Count
    intermediate_size: Count
    vocab_size: int = Field(ge=32)
    max_positions: Count  # the longest prompt with its completion, in tokens

    @property
    def head_size(self) -> int:
        """Features of one attention head."""
        return self.hidden_size // self.heads


class Pretraining(Section):
    """Next-token training of the base model on generated worked solutions, each read once."""

    steps: Count
    batch_sequences: Count
    muon_lr: float = Field(gt=0)
    adamw_lr: float = Field(gt=0)
    seed: Seed


class ScratchModel(Section):
    """A model that the study pretrains itself, so that it needs no download."""

    kind: Literal["pretrained-from-scratch"]
    architecture: Architecture
    pretraining: Pretraining


Model = ScratchModel  # with a second kind: a union of the kinds, Field(discriminator="kind")
