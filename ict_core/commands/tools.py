"""The subcommands beside the stages: the machine, cost, state, two arms, a number's origin, a rerun, leases."""

import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ict_core.commands.app import command
from ict_core.commands.options import CELL, AnyStudy, MaybeStudyFile
from ict_core.commands.stages import load_study, repository, study_to_run
from ict_core.errors import Damaged, UserError
from ict_core.process import RETRIES
from ict_core.store import CLAIMS, study_file, study_folder

if TYPE_CHECKING:
    from ict_core.config import Study
    from ict_core.tools.verify import Place


@command("doctor")
def doctor(study: AnyStudy) -> int:
    """Check whether this machine can run a study, and say what to do where it cannot; exit status 1 then."""
    from ict_core.tools import FAULT, Patient, doctor

    faults = 0
    for name, finding in doctor(Patient(load_study(study.file), repository(study.file))):
        faults += finding.level == FAULT
        print(f"{finding.level:8} {name:9} {finding.text}", flush=True)
    return int(faults > 0)


@command("plan")
def plan(
    study: AnyStudy,
    gpu: Annotated[str | None, typer.Option(help="a key of gpus in configs/plan.yaml (default: its gpu)")] = None,
    results: Annotated[
        Path | None, typer.Option(help="the folder of finished jobs to measure by (default: the study's)")
    ] = None,
    no_dag: Annotated[bool, typer.Option("--no-dag", help="do not ask Snakemake what would run")] = False,
) -> None:
    """Print what a study costs: jobs, hours, memory, disk, and what a change would rerun."""
    from ict_core.jobs import damaged, outputs
    from ict_core.tools.plan import gpu_device, measured_rates, plan_page, read_plan, rule_runs

    file = study.file
    loaded, root = load_study(file), repository(file)
    assumptions = read_plan(root / "configs" / "plan.yaml")
    device = gpu or assumptions.gpu
    gpu_device(assumptions, device)
    if results is not None and not results.is_dir():
        raise UserError(f"--results {results}: no such folder")
    measured = results or root / study_folder(loaded.name)
    faults = damaged(root, outputs.all_jobs(measured, loaded.base_cells(), loaded.cells()))
    rates = measured_rates(measured, faults)
    rules = None if no_dag else rule_runs(file, root)
    print(plan_page(loaded, assumptions, device, measured, rates, rules, faults), end="")


@command("status")
def status(
    study: AnyStudy,
    results: Annotated[
        Path | None, typer.Option(help="its folder (default: results/<study> of its repository)")
    ] = None,
) -> None:
    """Print how far each cell of a study is."""
    from ict_core.jobs import begun, damaged, outputs, status, status_page, study_status

    file = study.file
    loaded, root = load_study(file), repository(file)
    folder = (results or root / study_folder(loaded.name)).absolute()
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; nothing of {loaded.name} has run, or --results names another one")
    marked, base = begun(root), loaded.base_cells()
    faults = damaged(root, outputs.all_jobs(folder, base, loaded.cells()))
    statuses = [status(folder, cell, cell in base, marked, faults) for cell in loaded.evaluated_cells()]
    statuses += study_status(folder, outputs.study_jobs(folder), marked, faults)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print(status_page(statuses, width), end="")


@command("diff")
def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="a variant of the study")],
    second: Annotated[str, typer.Argument(metavar="B", help="a variant of the study")],
    study: AnyStudy,
) -> None:
    """Print what the trainings of two variants differ in."""
    from ict_core.config.mistakes import closest

    file = study.file
    loaded = load_study(file)
    for variant in (first, second):
        if variant not in loaded.methods:
            raise UserError(f"{file}: {variant!r} is no variant of its grid; {closest(variant, loaded.methods)}")
    different, equal = loaded.compare(first, second)
    for key, ours, theirs in different:
        print(f"{key}: {ours} -> {theirs}")
    print(f"{len(different)} {'key differs' if len(different) == 1 else 'keys differ'}, {equal} are equal")


@command("explain")
def explain(
    table: Annotated[Path, typer.Argument(help="results/STUDY/tables/TABLE.csv, or results/STUDY/claims.json")],
    cell: Annotated[
        str,
        typer.Option(
            help="MODEL/VARIANT/... in the order of the columns, or COLUMN=VALUE,...; of claims.json the claim's id"
        ),
    ],
    samples: Annotated[
        str | None,
        typer.Option(
            metavar="BENCHMARK/PROBLEM",
            help="print this problem's question and gold answer, and each run's completions",
        ),
    ] = None,
    claims: Annotated[
        Path, typer.Option(help="that claims.json was made by", show_default="the repository's configs/claims.yaml")
    ] = CLAIMS,
) -> int:
    """Walk from a number in a table or of a claim to its test, runs, samples, checkpoint, configuration and commit."""
    from ict_core.jobs import mend
    from ict_core.tools.explain import explain

    try:
        text, sound = explain(table, cell, samples, claims)
    except Damaged as error:  # of the study's own files: there is nothing to walk along
        text, sound = f"[BROKEN] {error}\n\nNOT SOUND: a file is damaged; {mend(error.output)}\n", False
    print(text, end="")
    return int(not sound)


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
    from ict_core.tools.verify import chosen_stages, place_of

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
    from ict_core.store import REPOSITORY, StudyFiles, read_manifest
    from ict_core.tools.verify import against, against_page

    if given:
        raise UserError(f"--{given[0]}: is for a cell; allowed with --against: the folder of a study's results alone")
    results = run or REPOSITORY / study_folder(read_manifest(StudyFiles(stored).settings)["study"])
    outcome = against(results, stored)
    print(against_page(outcome, results, stored), end="")
    return int(not outcome.same)


def _verify(place: "Place", study: "Study", file: Path, stages: tuple[str, ...], steps: int | None, out: Path) -> int:
    from ict_core.tools.verify import (
        changes_after,
        changes_before,
        changes_page,
        compare_stage,
        on_gpu,
        rerun,
        verdict,
        verify_page,
    )

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


@command("lease")
def lease(
    command: Annotated[list[str], typer.Argument(help="after --")],
    gpus: Annotated[int, typer.Option(help="how many; with 0 the command sees none")] = 0,
    retries: Annotated[int, typer.Option(help="when it dies")] = RETRIES,
) -> int:
    """Run a command with GPUs of its own, once they are free; explain how it ends, and retry what may pass."""
    from ict_core.process import run_leased

    if retries < 0:
        raise UserError(f"--retries {retries}: a number from 0 on")
    return run_leased(gpus, command, retries)
