"""The subcommands beside the stages: cost, state, how two arms differ, a look at tokens, a lease of GPUs for a job."""

import argparse
import shutil
import sys

from ict_core.commands.stages import load_study, prepare, repository
from ict_core.errors import UserError


def plan(options: argparse.Namespace) -> None:
    """Print what a study costs: jobs, hours, memory, disk, and what a change would rerun."""
    from ict_core.jobs import outputs
    from ict_core.jobs.damage import damaged
    from ict_core.tools.plan.assumptions import gpu_device, read_plan
    from ict_core.tools.plan.measured import measured_rates
    from ict_core.tools.plan.page import plan_page
    from ict_core.tools.plan.rerun import rule_runs

    study = load_study(options.study)
    root = repository(options)
    plan = read_plan(root / "configs" / "plan.yaml")
    gpu = options.gpu or plan.gpu
    gpu_device(plan, gpu)
    if options.results is not None and not options.results.is_dir():
        raise UserError(f"--results {options.results}: no such folder")
    results = options.results or root / "results" / study.name
    faults = damaged(root, outputs.of_all(results, study.base_cells(), study.cells()))
    rates = measured_rates(results, faults)
    rules = None if options.no_dag else rule_runs(options.study, root)
    print(plan_page(study, plan, gpu, results, rates, rules, faults), end="")


def status(options: argparse.Namespace) -> None:
    """Print how far each cell of a study is."""
    from ict_core.jobs import outputs
    from ict_core.jobs.damage import begun, damaged
    from ict_core.jobs.status import status, status_page, study_status

    study = load_study(options.study)
    root = repository(options)
    results = (options.results or root / "results" / study.name).absolute()
    if not results.is_dir():
        raise UserError(f"{results}: no such folder; nothing of {study.name} has run, or --results names another one")
    marked, base = begun(root), study.base_cells()
    faults = damaged(root, outputs.of_all(results, base, study.cells()))
    statuses = [status(results, cell, cell in base, marked, faults) for cell in study.evaluated_cells()]
    statuses += study_status(results, outputs.of_study(results), marked, faults)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print(status_page(statuses, width), end="")


def diff(options: argparse.Namespace) -> None:
    """Print what the trainings of two variants differ in."""
    from ict_core.config.mistakes import closest

    study = load_study(options.study)
    for variant in (options.A, options.B):
        if variant not in study.methods:
            raise UserError(
                f"{options.study}: {variant!r} is no variant of its grid; {closest(variant, study.methods)}"
            )
    different, equal = study.compare(options.A, options.B)
    for key, first, second in different:
        print(f"{key}: {first} -> {second}")
    print(f"{len(different)} {'key differs' if len(different) == 1 else 'keys differ'}, {equal} are equal")


def tokens(options: argparse.Namespace) -> None:
    """Sample from a cell's model and write a page that shows every token: scores, kept tokens, known forks."""
    from ict_core.tools.inspection.cell import inspected

    cell = inspected(options.cell, options.study)
    prepare()
    from ict_core.store.files import write_text
    from ict_core.store.layout import StudyFiles
    from ict_core.tools.inspection.tokens import chosen_problems, tokens_page, with_rules

    rules = with_rules(cell, options.method)
    file = options.problems or StudyFiles(cell.study).eval_problems
    problems = chosen_problems(file, options.benchmark, options.count, options.seed)
    out = options.out or options.cell / "tokens.html"
    write_text(out, tokens_page(cell, rules, problems, options.seed, options.alternatives))
    print(out)


def lease(options: argparse.Namespace) -> None:
    """Run a command with GPUs of its own, once they are free; explain how it ends, and retry what may pass."""
    from ict_core.process.devices import run_leased

    if options.retries < 0:
        raise UserError(f"--retries {options.retries}: a number from 0 on")
    sys.exit(run_leased(options.gpus, options.command, options.retries))
