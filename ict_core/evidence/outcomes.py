"""What a finished cell leaves for the evidence, read where its jobs left it or where it was stored on its own.

A missing manifest or frame raises UserError, one that is not what was written raises Damaged.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ict_core.errors import Damaged
from ict_core.store.layout import BASE_VARIANT, MANIFEST, StoredCellFiles, StudyFiles, TrainFiles
from ict_core.store.manifests import read_manifest

if TYPE_CHECKING:
    import pandas as pd

    from ict_core.config.study_file import Cell

MADE = "made"  # the job that leaves a cell's weights: a pretraining, a fetch, a supervised start, a training
JOBS = (MADE, "generate", "grade")


class LocalOutcome:
    """A cell in the folder of the study that ran it; `graded`: the study whose grades are used, if another."""

    def __init__(self, study: StudyFiles, cell: "Cell", graded: StudyFiles | None = None) -> None:
        self._cell, files = cell, study.cell(cell.folder)
        self._graded = (graded or study).cell(cell.folder)
        self._train = TrainFiles(files.train)
        made = study.base_model(cell.model, cell.seed) if cell.variant == BASE_VARIANT else files.train
        self.manifests = {MADE: made / MANIFEST, "generate": files.generation, "grade": self._graded.grading}

    def job(self, stage: str) -> dict[str, Any]:
        """The manifest of one of :data:`JOBS`."""
        path = self.manifests[stage]
        return read_manifest(path, path.parent if stage == MADE else None)

    def frame(self, name: str) -> "pd.DataFrame":
        """The frame ``scores``, ``log``, ``tokens`` or ``learning_curve``: ``records.SCORES``, ``LOG``, and so on."""
        from ict_core.evidence.collect import score_grades
        from ict_core.store import records

        if name == "scores":
            return score_grades(records.read_frame(self._graded.grades, records.GRADES), self._cell)
        return records.read_frame(getattr(self._train, name), getattr(records, name.upper()), self._train.folder)


class StoredOutcome:
    """A cell in a folder of its own, as :mod:`ict_core.evidence.cells` stores it."""

    def __init__(self, folder: Path) -> None:
        self.files = StoredCellFiles(folder)

    @cached_property
    def record(self) -> dict[str, Any]:
        """The whole ``cell.json``."""
        return read_manifest(self.files.manifest, self.files.folder)

    def job(self, stage: str) -> dict[str, Any]:
        """As in :class:`LocalOutcome`."""
        return dict(self.record["jobs"][stage])

    def frame(self, name: str) -> "pd.DataFrame":
        """As in :class:`LocalOutcome`."""
        from ict_core.store import records

        file = self.files.frame(name)
        frame = records.read_frame(file, getattr(records, name.upper()), self.files.folder)
        if records.content_hash(file) != self.record["frames"][name]:
            raise Damaged(f"{file}: it is not the frame that {self.files.manifest.name} states", self.files.folder)
        return frame


Outcome = LocalOutcome | StoredOutcome
