"""The subcommand that runs a cell again and compares."""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ict_core.commands.stages import study_to_run
from ict_core.errors import UserError
from ict_core.store.repository import study_file

if TYPE_CHECKING:
    from ict_core.config import Study
    from ict_core.tools.verify.cell import Place


def verify(options: argparse.Namespace) -> int:
    """Run a cell again, or hold a whole run against a stored one: status 0 if all is equal bit by bit, else 1."""
    from ict_core.tools.verify.cell import chosen_stages, place_of

    if options.against is not None:
        return _against(options)
    if options.cell is None:
        raise UserError("verify: missing; allowed: the folder of a cell, or --against FOLDER of a stored run")
    place = place_of(options.cell)
    file = options.study or study_file(place.results.name)
    study = study_to_run(file)
    if place.cell not in study.evaluated_cells():
        raise UserError(f"{file}: no cell {place.cell.folder}; --study names the cell's own study")
    stages = chosen_stages(place, study, options.stages, options.steps)
    if options.keep is not None and options.keep.exists() and any(options.keep.iterdir()):
        raise UserError(f"--keep {options.keep}: there are files in it; allowed: a new or an empty folder")
    with tempfile.TemporaryDirectory(prefix="ict-verify-") as folder:
        return _verify(place, study, file, stages, options.steps, options.keep or Path(folder))


def _against(options: argparse.Namespace) -> int:
    from ict_core.store.provenance import read_manifest
    from ict_core.store.repository import REPOSITORY
    from ict_core.tools.verify.against import SETTINGS, against, against_page

    given = [name for name in ("study", "stages", "steps", "keep") if getattr(options, name) is not None]
    if given:
        raise UserError(f"--{given[0]}: is for a cell; allowed with --against: the folder of a study's results alone")
    stored = options.against
    results = options.cell or REPOSITORY / "results" / read_manifest(stored / SETTINGS)["study"]
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
