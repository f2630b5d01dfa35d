"""The types of options that several subcommands have, and groups of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ict_core.errors import UserError
from ict_core.store import study_file

if TYPE_CHECKING:
    from ict_core.config import Cell, Study

STUDY = "configs/studies/<study>.yaml, or <study> for that of the repository"
CELL = "results/STUDY/MODEL/VARIANT/seed-N, or results/STUDY/MODEL/base"

StudyFile = Annotated[Path, typer.Option("--study", parser=study_file, metavar="STUDY", help=STUDY)]
MaybeStudyFile = Annotated[Path | None, typer.Option("--study", parser=study_file, metavar="STUDY", help=STUDY)]
StudyArgument = Annotated[
    Path | None, typer.Argument(parser=study_file, metavar="[STUDY]", help=f"{STUDY} (default: mini)")
]
StudyAsOption = Annotated[
    Path | None, typer.Option("--study", parser=study_file, metavar="STUDY", help="the same as an option")
]
Given = Annotated[Path, typer.Option()]
"""A path that must be given."""
HeldOut = Annotated[Path, typer.Option("--eval", help="the evaluation problems")]
Name = Annotated[str, typer.Option()]
Seed = Annotated[int, typer.Option()]
Stored = Annotated[Path, typer.Option(help="the folder of study.json, scores.parquet, ...")]
Results = Annotated[Path, typer.Option(help="the folder of statistics/, tables/, ...")]


@dataclass(frozen=True)
class AnyStudy:
    """A study, given as an argument or as an option; without either it is `mini`."""

    argument: StudyArgument = None
    study: StudyAsOption = None

    @property
    def file(self) -> Path:
        """The study's file.

        Raises:
            UserError: both forms are given.
        """
        if self.argument is not None and self.study is not None:
            told = f"not allowed with argument {self.argument}; name the study once"
            raise UserError(f"--study {self.study}: {told}")
        return self.argument or self.study or study_file("mini")


@dataclass(frozen=True)
class OneCell:
    """A cell of a study."""

    study: StudyFile
    model: Name
    variant: Name
    seed: Seed

    def of(self, loaded: "Study") -> "Cell":
        """The cell; an error if the study has no such cell."""
        from ict_core.config import Cell

        cell = Cell(self.model, self.variant, self.seed)
        known = loaded.evaluated_cells()
        if cell not in known:
            seeds = [c.seed for c in known if c[:2] == cell[:2]]
            hint = f"its seeds there: {seeds}" if seeds else "see the study's grid"
            raise UserError(f"{self.study}: no cell {cell.folder}; {hint}")
        return cell
