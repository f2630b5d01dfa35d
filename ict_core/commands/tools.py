"""The subcommands beside the stages: the machine, cost, state, two arms compared, a number's origin, tokens, leases."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from ict_core.commands.app import command
from ict_core.commands.options import CELL, MaybeStudyFile, StudyArgument, StudyAsOption, chosen
from ict_core.commands.stages import load_study, prepare, repository
from ict_core.errors import Damaged, UserError
from ict_core.process.supervise import RETRIES
from ict_core.store.layout import study_folder
from ict_core.store.repository import CLAIMS


@command("doctor")
def doctor(argument: StudyArgument = None, study: StudyAsOption = None) -> int:
    """Check whether this machine can run a study, and say what to do where it cannot; exit status 1 then."""
    from ict_core.tools.doctor import FAULT, Patient, doctor

    file = chosen(argument, study)
    faults = 0
    for name, finding in doctor(Patient(load_study(file), repository(file))):
        faults += finding.level == FAULT
        print(f"{finding.level:8} {name:9} {finding.text}", flush=True)
    return int(faults > 0)


@command("plan")
def plan(
    argument: StudyArgument = None,
    study: StudyAsOption = None,
    gpu: Annotated[str | None, typer.Option(help="a key of gpus in configs/plan.yaml (default: its gpu)")] = None,
    results: Annotated[
        Path | None, typer.Option(help="the folder of finished jobs to measure by (default: the study's)")
    ] = None,
    no_dag: Annotated[bool, typer.Option("--no-dag", help="do not ask Snakemake what would run")] = False,
) -> None:
    """Print what a study costs: jobs, hours, memory, disk, and what a change would rerun."""
    from ict_core.jobs import outputs
    from ict_core.jobs.damage import damaged
    from ict_core.tools.plan.assumptions import gpu_device, read_plan
    from ict_core.tools.plan.measured import measured_rates
    from ict_core.tools.plan.page import plan_page
    from ict_core.tools.plan.rerun import rule_runs

    file = chosen(argument, study)
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
    argument: StudyArgument = None,
    study: StudyAsOption = None,
    results: Annotated[
        Path | None, typer.Option(help="its folder (default: results/<study> of its repository)")
    ] = None,
) -> None:
    """Print how far each cell of a study is."""
    from ict_core.jobs import outputs
    from ict_core.jobs.damage import begun, damaged
    from ict_core.jobs.status import status, status_page, study_status

    file = chosen(argument, study)
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
    argument: StudyArgument = None,
    study: StudyAsOption = None,
) -> None:
    """Print what the trainings of two variants differ in."""
    from ict_core.config.mistakes import closest

    file = chosen(argument, study)
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
    from ict_core.jobs.damage import mend
    from ict_core.tools.explain.explain import explain

    try:
        text, sound = explain(table, cell, samples, claims)
    except Damaged as error:  # of the study's own files: there is nothing to walk along
        text, sound = f"[BROKEN] {error}\n\nNOT SOUND: a file is damaged; {mend(error.output)}\n", False
    print(text, end="")
    return int(not sound)


@command("tokens", portable=True)
def tokens(
    cell: Annotated[Path, typer.Argument(help=CELL)],
    study: MaybeStudyFile = None,
    problems: Annotated[
        Path | None, typer.Option(help="a file of problems (default: the study's data/eval.parquet)")
    ] = None,
    benchmark: Annotated[str | None, typer.Option(help="problems of this benchmark only")] = None,
    count: Annotated[int, typer.Option(help="prompts, drawn at random")] = 4,
    seed: Annotated[int, typer.Option(help="of the draw and the rollouts")] = 0,
    method: Annotated[
        list[Path] | None,
        typer.Option(
            help="configs/methods/<variant>.yaml: mark what this rule keeps as well; may be given several times"
        ),
    ] = None,
    alternatives: Annotated[int, typer.Option(help="likeliest tokens at each position")] = 5,
    out: Annotated[Path | None, typer.Option(help="the page (default: CELL/tokens.html)")] = None,
) -> None:
    """Sample from a cell's model and write a page that shows every token: scores, kept tokens, known forks."""
    from ict_core.tools.inspection.cell import inspected

    model = inspected(cell, study)
    prepare()
    from ict_core.store.files import write_text
    from ict_core.store.layout import CellFiles, StudyFiles
    from ict_core.tools.inspection.tokens import chosen_problems, tokens_page, with_rules

    rules = with_rules(model, method or [])
    asked = chosen_problems(problems or StudyFiles(model.study).eval_problems, benchmark, count, seed)
    page = out or CellFiles(cell).token_page
    write_text(page, tokens_page(model, rules, asked, seed, alternatives))
    print(page)


@command("lease")
def lease(
    command: Annotated[list[str], typer.Argument(help="after --")],
    gpus: Annotated[int, typer.Option(help="how many; with 0 the command sees none")] = 0,
    retries: Annotated[int, typer.Option(help="when it dies")] = RETRIES,
) -> int:
    """Run a command with GPUs of its own, once they are free; explain how it ends, and retry what may pass."""
    from ict_core.process.devices import run_leased

    if retries < 0:
        raise UserError(f"--retries {retries}: a number from 0 on")
    return run_leased(gpus, command, retries)
