"""The subcommand that runs a cell again and compares."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ict_core.commands.app import command
from ict_core.commands.options import CELL, MaybeStudyFile
from ict_core.commands.stages import study_to_run
from ict_core.errors import UserError
from ict_core.store.repository import study_file

if TYPE_CHECKING:
    from ict_core.config import Study
    from ict_core.tools.verify.cell import Place


@command("verify")
def verify(
    cell: Annotated[
        Path | None, typer.Argument(help=f"{CELL}; with --against results/STUDY (default: the stored study's)")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="STORED", help="run nothing: compare with this stored run")
    ] = None,
    study: MaybeStudyFile = None,
    stages: Annotated[
        str | None, typer.Option(help="with commas: pretrain or train, generate, grade (default: all)")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="train so many optimiser steps only, and compare these")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="an empty folder that receives the rerun (default: none is left)")
    ] = None,
) -> int:
    """Run a cell again, or hold a whole run against a stored one: status 0 if all is equal bit by bit, else 1."""
    if against is not None:
        given = {"study": study, "stages": stages, "steps": steps, "keep": keep}
        return _against(cell, against, [name for name, value in given.items() if value is not None])
    from ict_core.tools.verify.cell import chosen_stages, place_of

    if cell is None:
        raise UserError("verify: missing; allowed: the folder of a cell, or --against FOLDER of a stored run")
    place = place_of(cell)
    file = study or study_file(place.results.name)
    loaded = study_to_run(file)
    if place.cell not in loaded.evaluated_cells():
        raise UserError(f"{file}: no cell {place.cell.folder}; --study names the cell's own study")
    chosen = chosen_stages(place, loaded, stages, steps)
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise UserError(f"--keep {keep}: there are files in it; allowed: a new or an empty folder")
    with tempfile.TemporaryDirectory(prefix="ict-verify-") as folder:
        return _verify(place, loaded, file, chosen, steps, keep or Path(folder))


def _against(run: Path | None, stored: Path, given: list[str]) -> int:
    from ict_core.store.layout import StudyFiles, study_folder
    from ict_core.store.manifests import read_manifest
    from ict_core.store.repository import REPOSITORY
    from ict_core.tools.verify.against import against, against_page

    if given:
        raise UserError(f"--{given[0]}: is for a cell; allowed with --against: the folder of a study's results alone")
    results = run or REPOSITORY / study_folder(read_manifest(StudyFiles(stored).settings)["study"])
    found = against(results, stored)
    print(against_page(found, results, stored), end="")
    return int(not found.same)


def _verify(place: "Place", study: "Study", file: Path, stages: tuple[str, ...], steps: int | None, out: Path) -> int:
    from ict_core.tools.verify.changes import changes_after, changes_before, on_gpu
    from ict_core.tools.verify.compare import compare_stage
    from ict_core.tools.verify.page import changes_page, verdict, verify_page
    from ict_core.tools.verify.rerun import rerun

    again = replace(place, results=out)
    before = list(changes_before(place, study, stages))
    print(changes_page(before), end="", flush=True)
    for stage, seconds in rerun(place, study, file, stages, steps, out):
        print(f"{stage}: {seconds:.1f} s", file=sys.stderr)
    after = list(changes_after(place, again, stages))
    rows = [row for stage in stages for row in compare_stage(stage, place, again, steps)]
    print(changes_page(after), end="")
    print(verify_page(rows), end="")
    print(verdict(rows, changed=bool(before or after), gpu=on_gpu(place, again, stages)))
    return int(not all(row.equal for row in rows))
