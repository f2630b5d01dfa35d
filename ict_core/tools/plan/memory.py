"""What a training holds on each GPU."""

import math
from dataclasses import dataclass

from ict_core.config.models import Model
from ict_core.config.training import Training
from ict_core.tools.plan.assumptions import Assumptions
from ict_core.tools.plan.transformer import BYTES, FLOAT32, head_matrix, parameters
from ict_core.tools.plan.work import Work


@dataclass(frozen=True)
class Memory:
    """Bytes of one GPU in a training.

    Attributes:
        state: weights, gradients and AdamW's two moments in float32, this GPU's shard.
        reference: the reference model's float32 weights, this GPU's shard.
        activations: what the layers keep for the backward pass of one micro-batch.
        statistics: distributions of some states, scratch for their tiles, hidden states of some groups, and a sharded
            model's whole head.
        vllm: what vLLM takes; it sleeps during statistics and update, if the recipe says so.
        logits: float32 logits of one micro-batch, which are not held (the head runs in tiles), for comparison.
    """

    state: float
    reference: float
    activations: float
    statistics: float
    vllm: float
    sleeps: bool
    logits: float

    @property
    def peak(self) -> float:
        """The most that lives at once."""
        update = max(self.activations, self.statistics)
        return self.state + self.reference + (max(self.vllm, update) if self.sleeps else self.vllm + update)


def training_memory(model: Model, training: Training, work: Work, gpu_bytes: float, assumed: Assumptions) -> Memory:
    """The memory of a model that has `hardware`, when every answer of a micro-batch runs into the limit.

    Args:
        training: the recipe as the model runs it.
        work: one step.
        gpu_bytes: memory of one GPU.
    """
    if model.hardware is None:
        raise ValueError("a model without hardware trains on the CPU")
    a, hardware = model.architecture, model.hardware
    weights = parameters(a, model.tied_embeddings)
    shards = hardware.gpus if hardware.accelerate == "fsdp2" else 1
    tokens = _tokens(training.micro_batch_sequences, training, work)
    layer = tokens * a.hidden_size * assumed.layer_activation_bytes.value
    inputs = tokens * a.hidden_size * BYTES[training.precision]  # of each layer, all that checkpointing keeps
    states = _tokens(training.rows_of_groups, training, work) * a.hidden_size * BYTES[training.precision]
    tiles = 1 + 2 * min(1.0, assumed.statistics_tile.value / a.vocab_size)  # kept, and twice a tile of scratch
    chunk = assumed.statistics_probabilities.value * FLOAT32 * tiles
    head = head_matrix(a) * FLOAT32 if shards > 1 else 0
    rollouts = training.rollouts
    frozen = training.lora is not None  # no gradient, no moments, and the reference is the model without its adapters
    return Memory(
        state=weights * (FLOAT32 if frozen else 4 * FLOAT32) / shards,
        reference=0.0 if frozen or not training.kl_coef else weights * FLOAT32 / shards,
        activations=a.layers * inputs + layer if hardware.gradient_checkpointing else a.layers * layer,
        statistics=chunk + states + head,
        vllm=(rollouts.memory_share or 0.0) * gpu_bytes if rollouts else 0.0,
        sleeps=bool(rollouts and rollouts.sleep),
        logits=training.micro_batch_sequences * work.limit * a.vocab_size * FLOAT32,
    )


def _tokens(rows: int, training: Training, work: Work) -> float:
    """Of one pass over so many rows, the most: each of the longest, and packed a group's prompt once."""
    prompts = math.ceil(rows / training.group_size) if training.passes == "packed" else rows
    return rows * work.limit + prompts * work.longest_prompt
