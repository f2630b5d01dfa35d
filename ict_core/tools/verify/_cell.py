"""The files of one finished cell, and those of its rerun."""

from dataclasses import dataclass
from pathlib import Path

from ict_core.config import Cell, ScratchModel, Study
from ict_core.errors import UserError
from ict_core.store import BASE_VARIANT, CellFiles, StudyFiles, cell_folder, seed_of


@dataclass(frozen=True)
class Place:
    """Where a cell lies: in the folder of its study's results."""

    results: Path
    cell: Cell

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
        """The model that answers."""
        return self.base if self.is_base else self.files.model

    @property
    def base(self) -> Path:
        """The base model."""
        return StudyFiles(self.results).base_model(self.cell.model)


def place_of(folder: Path) -> Place:
    """What ``results/STUDY/MODEL/VARIANT/seed-N``, or ``results/STUDY/MODEL/base``, names.

    Raises:
        UserError: it has another form, or there is no such folder.
    """
    path = folder.resolve()
    if path.name == BASE_VARIANT:
        path = path.parents[1] / cell_folder(path.parent.name, BASE_VARIANT, 0)
    seed = seed_of(path)
    if seed is None or len(path.parts) < 5:
        raise UserError(f"{folder}: no cell; allowed: results/STUDY/MODEL/VARIANT/seed-N or results/STUDY/MODEL/base")
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; run the cell first")
    return Place(path.parents[2], Cell(path.parts[-3], path.parts[-2], seed))


def chosen_stages(place: Place, study: Study, wanted: str | None, steps: int | None) -> tuple[str, ...]:
    """The stages to run again, in their order.

    Args:
        wanted: names with commas between them; None for all that can be rerun, with `steps` the training alone.
        steps: optimiser steps to train; None for all.

    Raises:
        UserError: a name that is no stage of the cell, a fetched model's `pretrain`, or `steps` without a training or
            not between 1 and the recipe's.
    """
    known: tuple[str, ...] = ("train", "generate", "grade")
    if place.is_base:  # pretrained, or fetched and not made
        made = isinstance(study.models[place.cell.model], ScratchModel)
        known = ("pretrain", *known[1:]) if made else known[1:]
    chosen = known[:1] if steps is not None and wanted is None else known
    if wanted is not None:
        names = [name.strip() for name in wanted.split(",")]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise UserError(f"--stages {wanted}: {', '.join(unknown)} cannot be rerun; allowed: {','.join(known)}")
        chosen = tuple(name for name in known if name in names)
    if steps is not None and chosen != ("train",):
        raise UserError(f"--steps {steps}: only a training has steps; allowed with --stages train alone")
    if steps is not None and not 1 <= steps <= study.training.steps:
        raise UserError(f"--steps {steps}: allowed: 1 to {study.training.steps}, the recipe's steps")
    return chosen
