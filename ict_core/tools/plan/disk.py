"""What a study leaves on disk."""

from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ict_core.config.study import Study
from ict_core.errors import Damaged
from ict_core.store.layout import cell_folder
from ict_core.tools.plan.assumptions import Assumptions
from ict_core.tools.plan.measured import Rates
from ict_core.tools.plan.transformer import FLOAT32, parameters, weight_bytes
from ict_core.tools.plan.work import cells_of, evaluation_work, step_work


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

    Args:
        results: a folder whose finished cells tell the bytes of an answer.
        rates: what finished jobs tell of the length of an answer.
        damaged: outputs that tell nothing.
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
            resumable = 3 * float32  # weights and Adam's moments; the third is begun
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
    """Bytes on disk of one row of a model's `completions` or `grades`; None where no whole cell has finished.

    Raises:
        Damaged: a file that is not among the damaged ones is not Parquet.
    """
    files = [p for p in sorted(results.glob(f"{cell_folder(model, '*', '*')}/{frame}.parquet")) if p not in damaged]
    rows = 0
    for file in files:
        try:
            rows += pq.read_metadata(file).num_rows
        except pa.ArrowException as error:
            raise Damaged(f"{file}: not a readable Parquet file ({error})", file) from error
    return sum(file.stat().st_size for file in files) / rows if rows else None
