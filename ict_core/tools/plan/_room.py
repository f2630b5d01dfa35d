"""What a study takes: memory of each GPU in a training, and disk."""

import math
from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ict_core.config import Model, Study, Training
from ict_core.errors import Damaged
from ict_core.store import CellFiles, cell_folder
from ict_core.tools.plan._assumptions import Assumptions, Rates
from ict_core.tools.plan._costs import (
    BYTES,
    FLOAT32,
    Work,
    cells_of,
    evaluation_work,
    head_matrix,
    parameters,
    step_work,
    weight_bytes,
)


@dataclass(frozen=True)
class Memory:
    """Bytes of one GPU in a training; its shard is in float32."""

    state: float  # its shard of weights, gradients and AdamW's two moments
    reference: float  # its shard of the reference model's weights
    activations: float  # what the layers keep for the backward pass of one micro-batch
    statistics: float  # some states' distributions and tiles, some groups' hidden states, a sharded model's whole head
    vllm: float  # what vLLM takes
    sleeps: bool  # whether it gives that back during statistics and update
    logits: float  # of one micro-batch, in float32; not held, as the head runs in tiles, but for comparison

    @property
    def peak(self) -> float:
        """The most that lives at once."""
        update = max(self.activations, self.statistics)
        return self.state + self.reference + (max(self.vllm, update) if self.sleeps else self.vllm + update)


def training_memory(model: Model, training: Training, work: Work, gpu_bytes: float, assumed: Assumptions) -> Memory:
    """The memory of a model that has `hardware`, when every answer of a micro-batch of a step runs into the limit."""
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


@dataclass(frozen=True)
class OnDisk:
    """Files of one kind and model: how many, and the bytes of one."""

    what: str
    model: str
    files: int
    bytes_each: float
    measured: bool = False
    kept: bool = True  # else for a while only, one of each model at a time

    @property
    def bytes(self) -> float:
        """Of all of them."""
        return self.files * self.bytes_each


def study_disk(
    study: Study, assumed: Assumptions, results: Path, rates: Rates, damaged: Container[Path] = ()
) -> list[OnDisk]:
    """What every model's cells leave: checkpoints in the model's dtype, answers, grades, logs.

    The finished cells of `results` tell the bytes of an answer, but for `damaged` outputs, and `rates` its length.
    """
    training, stored = study.training, []
    samples = -(-training.steps // training.token_sample_every) * training.token_sample_groups * training.group_size
    for name, model in study.models.items():
        float32 = parameters(model.architecture, model.tied_embeddings) * FLOAT32
        trained, evaluated = cells_of(study, name)
        work = evaluation_work(study, name, assumed, rates.get(("generate", name)))
        answer = step_work(study, name, assumed, rates.get(("train", name))).answer
        log = training.steps * assumed.log_bytes_per_step.value + samples * answer * assumed.sampled_token_bytes.value
        if model.dtype != "float32":
            stored.append(OnDisk("float32 weights of a training that ends", name, 1, float32, kept=False))
        if training.checkpoint_every is not None and training.lora is None:
            resumable = 3 * float32  # weights and Adam's moments
            # two files are whole, the third is being written
            stored.append(OnDisk("checkpoints of a training under way", name, 3, resumable, kept=False))
        estimates = {
            "completions": work.tokens * assumed.completion_bytes_per_token.value,
            "grades": work.answers * assumed.grade_bytes.value,
        }
        answers = {}
        for frame, estimate in estimates.items():
            a_row = bytes_a_row(results, name, frame, damaged)
            one = estimate if a_row is None else a_row * work.answers
            answers[frame] = OnDisk(frame, name, evaluated, one, a_row is not None)
        stored += [
            OnDisk("base checkpoint", name, 1, weight_bytes(model)),
            OnDisk("trained checkpoints", name, trained, weight_bytes(model)),
            answers["completions"],
            replace(answers["completions"], what="completions in the cache"),
            answers["grades"],
            OnDisk("logs and token samples", name, trained, log),
        ]
    return stored


def bytes_a_row(results: Path, model: str, frame: str, damaged: Container[Path] = ()) -> float | None:
    """Bytes on disk of one row of a model's `completions` or `grades`; None where no whole cell has finished."""
    cells = CellFiles(Path(cell_folder(model, "*", "*")))
    pattern = cells.completions if frame == "completions" else cells.grades
    files = [path for path in sorted(results.glob(pattern.as_posix())) if path not in damaged]
    rows = 0
    for file in files:
        try:
            rows += pq.read_metadata(file).num_rows
        except pa.ArrowException as error:
            raise Damaged(f"{file}: not a readable Parquet file ({error})", file) from error
    return sum(file.stat().st_size for file in files) / rows if rows else None
