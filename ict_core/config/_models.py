"""`configs/models/<name>.yaml`: where a base model comes from."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ict_core.config._problem_sets import HubId, unpinned
from ict_core.config._section import Count, Section, Seed
from ict_core.config.mistakes import Fault, refused

Dtype = Literal["float32", "bfloat16"]


class Architecture(Section):
    """A decoder with rotary positions and grouped-query attention (Qwen2's, at any size)."""

    hidden_size: Count
    layers: Count
    heads: Count
    kv_heads: Count
    intermediate_size: Count
    vocab_size: int = Field(ge=32)
    max_positions: Count  # the longest prompt with its completion, in tokens

    def faults(self) -> Iterator[Fault]:
        if self.hidden_size % (2 * self.heads):
            allowed = f"a divisor of hidden_size / 2 = {self.hidden_size / 2:g} (rotary positions need an even head)"
            yield refused("heads", self.heads, allowed)
        if self.heads % self.kv_heads:
            yield refused("kv_heads", self.kv_heads, f"a divisor of heads = {self.heads}")

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


class Hardware(Section):
    """What one job of this model takes. But for rounding, no result depends on it."""

    accelerate: Literal["one-gpu", "ddp", "fsdp2"]  # of configs/accelerate
    gpus: Count  # of a training; a generation takes one
    micro_batch_sequences: Count  # rollouts in one forward pass of one GPU, in place of the recipe's
    gradient_checkpointing: bool
    memory_gib: Count  # of the host
    train_hours: float = Field(gt=0)  # the limits that a cluster's scheduler is given
    generate_hours: float = Field(gt=0)

    def faults(self) -> Iterator[Fault]:
        if (self.accelerate == "one-gpu") != (self.gpus == 1):
            yield refused("accelerate", self.accelerate, "one-gpu with gpus: 1, and only there")


class Template(Section):
    """What stands around a problem's prompt, for example a chat template's turns: `{prompt}` stands for it."""

    template: str = Field(min_length=1)
    source: str = Field(min_length=1)

    def faults(self) -> Iterator[Fault]:
        if self.template.count("{prompt}") != 1:
            yield refused("template", self.template, "a text that holds {prompt} once")


class ScratchModel(Section):
    """A model that the study pretrains itself, so that it needs no download."""

    dtype: ClassVar[Dtype] = "float32"
    tied_embeddings: ClassVar[bool] = True
    prompt: ClassVar[None] = None
    hardware: ClassVar[None] = None

    kind: Literal["pretrained-from-scratch"]
    architecture: Architecture
    pretraining: Pretraining


class _Checkpoint(Section):
    architecture: Architecture  # which the checkpoint's own config must have
    tied_embeddings: bool
    dtype: Dtype  # of the weights that answer; training keeps float32 weights
    stop_ids: tuple[int, ...] = Field(
        min_length=1, description="a list of the token ids that end an answer, each a whole number"
    )
    prompt: Template | None = None  # absent: the problem's prompt alone
    hardware: Hardware | None = None  # absent: one process on the CPU

    def faults(self) -> Iterator[Fault]:
        size = self.architecture.vocab_size
        if beyond := [token for token in self.stop_ids if not 0 <= token < size]:
            yield refused("stop_ids", beyond, f"ids below architecture.vocab_size = {size}")


class HubModel(_Checkpoint):
    """A model of the Hugging Face hub."""

    kind: Literal["hub"]
    hub: HubId
    revision: str = Field(description="a commit of the model on the hub: 40 hexadecimal digits")
    allow_unpinned: bool = False  # true: the revision may be a branch, whose content may change
    licence: str = Field(min_length=1)

    def faults(self) -> Iterator[Fault]:
        yield from unpinned(self.revision, self.allow_unpinned)
        yield from super().faults()


class LocalModel(_Checkpoint):
    """A checkpoint in a folder of this machine, in the hub's format with safetensors weights."""

    kind: Literal["local"]
    path: str = Field(min_length=1)  # a relative one starts at the repository's folder


Model = Annotated[ScratchModel | HubModel | LocalModel, Field(discriminator="kind")]
