"""What a study leaves on disk."""

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ict_core.config.study import Study
from ict_core.errors import Damaged
from ict_core.store.layout import CellFiles, cell_folder
from ict_core.tools.plan.assumptions import Assumptions
from ict_core.tools.plan.measured import Rates
from ict_core.tools.plan.parameters import BYTES, parameters
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
        count = parameters(model.architecture, model.tied_embeddings)
        weights = count * BYTES[model.dtype]
        trained, evaluated = cells_of(study, name)
        rate = rates.get(("generate", name))
        work = evaluation_work(study, model.architecture, assumed, rate.answer if rate else None)
        rollout = rates.get(("train", name))
        answer = step_work(study, name, assumed, rollout.answer if rollout else None).answer
        log = training.steps * assumed.log_bytes_per_step.value + samples * answer * assumed.sampled_token_bytes.value
        completions = _measured(results, name, "completions", damaged, work.answers)
        grades = _measured(results, name, "grades", damaged, work.answers)
        assumed_text = work.tokens * assumed.completion_bytes_per_token.value
        assumed_grades = work.answers * assumed.grade_bytes.value
        if model.dtype != "float32":
            stored.append(
                OnDisk("float32 weights of a training that ends", name, 1, count * BYTES["float32"], kept=False)
            )
        if training.checkpoint_every is not None and training.lora is None:
            resumable = 3 * count * BYTES["float32"]  # weights and Adam's moments
            under_way = OnDisk("checkpoints of a training under way", name, 3, resumable, kept=False)  # the third begun
            stored.append(under_way)
        stored += [
            OnDisk("base checkpoint", name, 1, weights),
            OnDisk("trained checkpoints", name, trained, weights),
            OnDisk("completions", name, evaluated, completions or assumed_text, completions is not None),
            OnDisk("completions in the cache", name, evaluated, completions or assumed_text, completions is not None),
            OnDisk("grades", name, evaluated, grades or assumed_grades, grades is not None),
            OnDisk("logs and token samples", name, trained, log),
        ]
    return stored


def _measured(results: Path, model: str, frame: str, damaged: Container[Path], rows: int) -> float | None:
    """Bytes of so many rows, by those of finished cells."""
    one = bytes_a_row(results, model, frame, damaged)
    return None if one is None else one * rows


def bytes_a_row(results: Path, model: str, frame: str, damaged: Container[Path] = ()) -> float | None:
    """Bytes on disk of one row of a model's `completions` or `grades`; None where no whole cell has finished.

    Raises:
        Damaged: a file that is not among the damaged ones is not Parquet.
    """
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
