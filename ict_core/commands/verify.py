"""The subcommand that runs a cell again and compares."""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ict_core.commands.stages import load_study
from ict_core.errors import UserError

if TYPE_CHECKING:
    from ict_core.config import Study
    from ict_core.verify.cell import Place


def verify(options: argparse.Namespace) -> int:
    """Run a cell again from its inputs and compare: status 0 if all is equal bit by bit, else 1."""
    from ict_core.verify.cell import chosen_stages, place_of

    place = place_of(options.cell)
    study_file = options.study or Path("configs/studies") / f"{place.results.name}.yaml"
    study = load_study(study_file)
    if place.cell not in study.evaluated_cells():
        raise UserError(f"{study_file}: no cell {place.cell.folder}; --study names the cell's own study")
    stages = chosen_stages(place, study, options.stages, options.steps)
    if options.keep is not None and options.keep.exists() and any(options.keep.iterdir()):
        raise UserError(f"--keep {options.keep}: there are files in it; allowed: a new or an empty folder")
    with tempfile.TemporaryDirectory(prefix="ict-verify-") as folder:
        return _verify(place, study, study_file, stages, options.steps, options.keep or Path(folder))


def _verify(
    place: "Place", study: "Study", study_file: Path, stages: tuple[str, ...], steps: int | None, out: Path
) -> int:
    from ict_core.verify.changes import changes_after, changes_before, on_gpu
    from ict_core.verify.compare import compare_stage
    from ict_core.verify.page import changes_page, verdict, verify_page
    from ict_core.verify.rerun import rerun

    again = replace(place, results=out)
    before = list(changes_before(place, study, stages))
    print(changes_page(before), end="", flush=True)
    for stage, seconds in rerun(place, study, study_file, stages, steps, out):
        print(f"{stage}: {seconds:.1f} s", file=sys.stderr)
    after = list(changes_after(place, again, stages))
    rows = [row for stage in stages for row in compare_stage(stage, place, again, steps)]
    print(changes_page(after), end="")
    print(verify_page(rows), end="")
    print(verdict(rows, changed=bool(before or after), gpu=on_gpu(place, again, stages)))
    return int(not all(row.equal for row in rows))
