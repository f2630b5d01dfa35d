"""The types of options that several subcommands have."""

from pathlib import Path
from typing import Annotated

import typer

from ict_core.errors import UserError
from ict_core.store.repository import study_file

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


def chosen(argument: Path | None, option: Path | None) -> Path:
    """The study's file, of which one form at most is given; without either that of `mini`.

    Raises:
        UserError: both are given.
    """
    if argument is not None and option is not None:
        raise UserError(f"--study {option}: not allowed with argument {argument}; name the study once")
    return argument or option or study_file("mini")
