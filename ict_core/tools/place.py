"""The paths of a cell in the results of its study. Imports no library that numerics are chosen for."""

from dataclasses import dataclass
from pathlib import Path

from ict_core.config.study_file import Cell
from ict_core.errors import UserError
from ict_core.store.layout import BASE_VARIANT, MANIFEST, CellFiles, StudyFiles, seed_of
from ict_core.store.manifests import read_manifest


@dataclass(frozen=True)
class Place:
    """A cell, and the folder of its study's results."""

    results: Path
    cell: Cell
    base_number: int = 0  # the number of the base model that it started from

    @property
    def is_base(self) -> bool:
        """Whether it is an untrained model."""
        return self.cell.variant == BASE_VARIANT

    @property
    def files(self) -> CellFiles:
        """Its training, completions and grades."""
        return StudyFiles(self.results).cell(self.cell.folder)

    @property
    def trained(self) -> Path:
        """What the cell's first stage writes: a training's folder, or the base model itself."""
        return self.base if self.is_base else self.files.train

    @property
    def checkpoint(self) -> Path:
        """The checkpoint that answers the problems."""
        return self.base if self.is_base else self.files.model

    @property
    def training_problems(self) -> Path:
        """What it trained on: the problems within the base model's reach if the study chose these, else all."""
        files, data = StudyFiles(self.results), read_manifest(self.manifest("train"))["config"].get("data", {})
        return files.within_reach(self.cell.model, self.base_number) if "within_reach" in data else files.train_problems

    @property
    def base(self) -> Path:
        """The base model."""
        number = self.cell.seed if self.is_base else self.base_number
        return StudyFiles(self.results).base_model(self.cell.model, number)

    def manifest(self, stage: str) -> Path:
        """The manifest that a stage wrote; `base` is the stage that made the base model."""
        folder = self.base if stage == "base" else self.trained
        return {"generate": self.files.generation, "grade": self.files.grading}.get(stage, folder / MANIFEST)

    def stated(self, stage: str, name: str) -> Path:
        """The file or checkpoint whose hash a stage's manifest states under ``<name>_sha256``."""
        problems = self.training_problems if stage == "train" else StudyFiles(self.results).eval_problems
        model = self.base if stage == "base" else self.checkpoint
        frames = {"problems": problems, "completions": self.files.completions, "grades": self.files.grades}
        return (frames | {"base": self.base, "model": model})[name]


def place_of(folder: Path) -> Place:
    """The place of ``results/STUDY/MODEL/VARIANT/seed-N`` or ``results/STUDY/MODEL/base`` (the first base model)."""
    path = folder.resolve()
    if path.name == BASE_VARIANT:
        numbers = [number for base in path.glob("seed-*") if (number := seed_of(base)) is not None]
        path /= f"seed-{min(numbers, default=0)}"
    seed = seed_of(path)
    if seed is None or len(path.parts) < 5:
        raise UserError(f"{folder}: no cell; allowed: results/STUDY/MODEL/VARIANT/seed-N or results/STUDY/MODEL/base")
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; run the cell first")
    return Place(path.parents[2], Cell(path.parts[-3], path.parts[-2], seed))
