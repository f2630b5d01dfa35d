"""The subcommands besides the stages: the machine, cost, state, arms, a number's origin, reruns, leases."""

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ict_core.errors import Damaged, UserError
from ict_core.jobs.command import (
    CELL,
    MODEL_GROUP,
    STUDY_GROUP,
    AnyStudy,
    MaybeStudyFile,
    command,
    load_study,
    study_to_run,
)
from ict_core.store.layout import CLAIMS, REPOSITORY, cells_folder, repository, stored_folder, study_file, study_folder

if TYPE_CHECKING:
    import pandas as pd

    from ict_core.config.study import Study
    from ict_core.evidence.cells import Counted

AsJson = Annotated[bool, Option("--json", help="for programs")]


@command("add-model", MODEL_GROUP)
def add_model(
    checkpoint: Annotated[str, Argument(help="a checkpoint's folder, or its id on the hub, OWNER/NAME")],
    name: Annotated[str | None, Option(help="of the file (default: the checkpoint's, in small letters)")] = None,
) -> None:
    """Write configs/models/NAME.yaml from a checkpoint's own files, and say what to look at in it."""
    from ict_core.tools.model_file import model_file

    local = Path(checkpoint)
    plain = name or (local.resolve() if local.is_dir() else local).name.lower()
    path, remarks = model_file(checkpoint, plain, Path.cwd() if Path("configs/models").is_dir() else REPOSITORY)
    print(f"{path} is written. Look at:")
    for remark in remarks:
        print(f"* {remark}")


@command("check", STUDY_GROUP)
def check(
    study: AnyStudy,
    files: Annotated[bool, Option("--files", help="only the study's files and the folders that they name")] = False,
) -> int:
    """Check a study's files, then whether this machine can run it; if it cannot, say what to do (status 1)."""
    from ict_core.config.load import check_sources
    from ict_core.selection.registry import rule_module
    from ict_core.tools.machine_checks import FAULT, check_machine

    loaded, root = load_study(study.file), repository(study.file)
    for method in loaded.methods.values():
        rule_module(method.selector)
    check_sources(loaded, root, root / study_folder(loaded.name))
    tuned = f", {len(loaded.tuning_cells())} of them to choose learning rates by" if loaded.tuning else ""
    print(
        f"{loaded.name}: {len(loaded.trained_cells())} cells to train{tuned}, {len(loaded.all_bases())} base model(s)"
    )
    if more := loaded.later_in_words():
        print(f"{loaded.name}: {more}")
    levels = set()
    for name, finding in () if files else check_machine(loaded, root):
        levels.add(finding.level)
        print(f"{finding.level:8} {name:9} {finding.text}", flush=True)
    return int(FAULT in levels)


@command("plan", STUDY_GROUP)
def plan(
    study: AnyStudy,
    results: Annotated[
        Path | None,
        Option(help="the folder of finished jobs to take times from (default: the study's, else its stored run's)"),
    ] = None,
    cores: Annotated[int | None, Option(min=1, help="that the study may use (default: this machine's)")] = None,
) -> None:
    """Print which jobs of a study would run now, how long they take by finished ones, and the least wall time."""
    from ict_core.tools.plan import finished_seconds, plan_page, planned_jobs

    file = study.file
    loaded, root = load_study(file), repository(file)
    if results is not None and not results.is_dir():
        raise UserError(f"--results {results}: no such folder")
    usable_cores = cores or len(os.sched_getaffinity(0))
    sources = [results] if results else [root / study_folder(loaded.name), root / stored_folder(loaded.name)]
    cells = root / cells_folder(loaded.name)
    timed = ((path, finished_seconds(path, None if results else cells)) for path in sources)
    source, seconds = next(((path, took) for path, took in timed if took), (sources[0], {}))
    print(plan_page(loaded, planned_jobs(file, root, usable_cores), seconds, source, usable_cores), end="")


@command("status", STUDY_GROUP)
def status(
    study: AnyStudy,
    results: Annotated[Path | None, Option(help="its folder (default: results/<study> of its repository)")] = None,
    as_json: AsJson = False,
    brief: Annotated[bool, Option("--brief", help="the totals alone, in a line")] = False,
) -> None:
    """Print how far each cell of a study is."""
    from ict_core.config.study_file import Cell
    from ict_core.evidence.cells import counted, machine
    from ict_core.evidence.outcomes import StoredOutcome
    from ict_core.evidence.run_faults import run_faults, run_notes
    from ict_core.jobs.status import status_brief, status_page, status_records, study_status

    file = study.file
    loaded, root = load_study(file), repository(file)
    folder = (results or root / study_folder(loaded.name)).absolute()
    cells = counted(loaded, root / cells_folder(loaded.name), here=False)
    stored = cells.cells
    if not folder.is_dir() and not stored:
        raise UserError(f"{folder}: no such folder; nothing of {loaded.name} has run, or --results names another one")
    notes = {cell: machine(StoredOutcome(path).record["runs"][-1]) for cell, path in stored.items()}
    statuses = study_status(loaded, folder, notes)
    if as_json:
        faults = run_faults(_logs(loaded, folder, cells)).to_dict("records")
        found = [(Cell(*(fault.pop(key) for key in Cell._fields)).folder, fault) for fault in faults]
        rows = status_records(statuses)
        for row in rows:
            if row_faults := [fault for folder_of, fault in found if folder_of == row["cell"]]:
                row["faults"] = row_faults
        print(json.dumps(rows, indent=2))
        return
    if brief:
        print(status_brief(statuses), end="")
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print(status_page(statuses, width), end="")
    if fault_notes := run_notes(_logs(loaded, folder, cells), padded=True):
        print(f"\nTrainings that went wrong, by rules of thumb:\n\n{fault_notes}")
    if more := loaded.later_in_words():
        print(f"not counted: {more}")


def _logs(study: "Study", results: Path, cells: "Counted") -> "pd.DataFrame":
    """`records.STUDY_LOG` of the finished trainings, in this study's results or stored as single cells."""
    import pandas as pd

    from ict_core.store import records
    from ict_core.store.layout import StudyFiles, TrainFiles

    logs = [pd.DataFrame(columns=list(records.STUDY_LOG))]
    files = StudyFiles(results)
    for cell in study.trained_cells():
        with suppress(Damaged):  # which the page reports
            if cell in cells.cells or TrainFiles(files.cell(cell.folder).train).log.exists():
                logs.append(cells.outcome(cell, files).frame("log").assign(**cell._asdict()))
    return pd.concat(logs[1:] or logs)


@command("cells", STUDY_GROUP)
def cells(
    study: AnyStudy,
    source: Annotated[
        Path | None,
        Option(
            "--from", help="a folder of stored cells, such as another checkout's (default: the study's own results)"
        ),
    ] = None,
) -> int:
    """Store finished cells in results/cells/STUDY, to be committed and carried; exit status 1 if one is refused.

    Each cell is stored separately, without weights. The workflow does not rerun a cell whose stored copy counts.
    """
    from ict_core.evidence.cells import all_cells, finished, store_cell, stored_in
    from ict_core.store.layout import StudyFiles

    file = study.file
    loaded, root = load_study(file), repository(file)
    folder, known_cells = root / cells_folder(loaded.name), set(all_cells(loaded))
    if source is not None and not source.is_dir():
        raise UserError(f"--from {source}: no such folder; allowed: a folder of stored cells, results/cells/STUDY")
    done: Counter[str] = Counter()
    files = StudyFiles(root / study_folder(loaded.name))
    for cell, outcome in finished(loaded, files) if source is None else stored_in(source):
        try:
            if cell not in known_cells:
                raise UserError(f"{source}/{cell.folder}: {loaded.name} has no such cell")
            done[store_cell(loaded, cell, outcome, folder / cell.folder)] += 1
        except UserError as error:
            done["refused"] += 1
            print(f"refused: {error}", file=sys.stderr)
    print(f"{folder}: {', '.join(f'{done[what]} {what}' for what in sorted(done)) or 'no finished cell'}")
    return int(done["refused"] > 0)


@command("diff", STUDY_GROUP)
def diff(
    first: Annotated[str, Argument(metavar="A", help="a variant of the study")],
    second: Annotated[str, Argument(metavar="B", help="a variant of the study")],
    study: AnyStudy,
    as_json: AsJson = False,
) -> None:
    """Print what the trainings of two variants differ in."""
    from ict_core.config.mistakes import one_of

    file = study.file
    loaded = load_study(file)
    for variant in (first, second):
        if variant not in loaded.methods:
            raise UserError(f"{file}: {variant!r} is no variant of its grid; {one_of(loaded.methods)}")
    different, equal = loaded.compare(first, second)
    if as_json:
        keys = [{"key": key, first: left, second: right} for key, left, right in different]
        print(json.dumps({"different": keys, "equal": equal}, indent=2, default=str))
        return
    for key, left, right in different:
        print(f"{key}: {left} -> {right}")
    print(f"{len(different)} {'key differs' if len(different) == 1 else 'keys differ'}, {equal} are equal")


@command("screen", STUDY_GROUP)
def screen(study: AnyStudy) -> None:
    """Print which rules of a bench the rewards of its tuning settle, after `snakemake rates`, and which stay open.

    A rule is settled beside each of its controls; beside the first baseline only if it has none.
    """
    from ict_core.config.load import check_rates
    from ict_core.config.tuning import StoredRates
    from ict_core.evidence.bench import bench_controls, rules_of, screening
    from ict_core.evidence.stored import Settings
    from ict_core.markdown import markdown_table
    from ict_core.store.layout import StudyFiles
    from ict_core.tables.table import percent_interval

    loaded, root = load_study(study.file), repository(study.file)
    settings = Settings.of(loaded.stage_config("evidence"))
    rated = loaded.rated_arms()  # a replica is none: it takes its original's rate
    if not (rules := [rule for rule in rules_of(settings) if any(rule == variant for _, variant in rated)]):
        raise UserError(
            f"{study.file}: no rule with a control; allowed: a bench, whose controls are among its variants"
        )
    name = loaded.rates_of.study if loaded.rates_of else loaded.name  # the study that chose the rates
    own, stored = (StudyFiles(root / folder(name)) for folder in (study_folder, stored_folder))
    rates = next((path for path in (own.rate_study.rates, stored.rates) if path.exists()), None)
    if rates is None:
        raise UserError(
            f"{own.rate_study.rates}: no such file; run `snakemake --cores all rates --config=study={name}`"
        )
    chosen, controls = StoredRates.read(name, rates), bench_controls(settings)
    for fault in check_rates(loaded, chosen):
        raise UserError(f"{rates}: {fault.text}; or run `snakemake rates` again")
    arms, reference = chosen.content["arms"], settings.baselines[0]
    found = list(screening(arms, rules, controls, reference, settings.margin))
    over_reference = screening(arms, list(dict.fromkeys(controls.values())), {}, reference, settings.margin)
    rows = []
    for one in (*found, *over_reference):
        difference = percent_interval(one.difference, one.low, one.high, signed=True)
        rows.append([one.model, one.rule, one.control, difference, "yes" if one.settled else "no"])
    print(markdown_table(["model", "rule", "less", "reward, points", "within the margin"], rows, padded=True))
    left = dict.fromkeys(one.rule for one in found if not one.settled)
    settled = [rule for rule in rules if rule not in left]
    number = f"{len(settled)} of {len(rules)} rules are settled beside their controls"
    names = f"{', '.join(settled) or 'none'}; open: {', '.join(left) or 'none'}"
    print(f"By the rewards of tuning, uncorrected, {number}: {names}")


@command("explain", STUDY_GROUP)
def explain(
    table: Annotated[Path, Argument(help="results/STUDY/tables/TABLE.csv, or results/STUDY/claims.json")],
    cell: Annotated[
        str,
        Option(
            help="MODEL/VARIANT/... in the order of the columns, or COLUMN=VALUE,...; of claims.json the claim's id"
        ),
    ],
    samples: Annotated[
        str | None,
        Option(
            metavar="BENCHMARK/PROBLEM",
            help="print this problem's question and gold answer, and each run's completions",
        ),
    ] = None,
    claims: Annotated[
        Path, Option(help="by which claims.json was made", show_default="the repository's configs/claims.yaml")
    ] = CLAIMS,
) -> int:
    """Walk from a number in a table or of a claim to its test, runs, samples, checkpoint, configuration and commit."""
    from ict_core.tools.explain.explain import explain

    try:
        text, sound = explain(table, cell, samples, claims)
    except Damaged as error:  # one of the study's own files, so there is nothing to trace
        advice = f"delete {error.output} and run snakemake again"
        text, sound = f"[BROKEN] {error}\n\nNOT SOUND: a file is damaged; {advice}\n", False
    print(text, end="")
    return int(not sound)


@command("site", STUDY_GROUP, portable=True)
def site(
    study: Annotated[str, Argument(help="its name: results/STUDY, or else the stored results/reference/STUDY")],
    out: Annotated[Path, Argument(help="a folder that does not exist yet")],
) -> None:
    """Put a study's pages into one folder of static files: answer, claims, tables, figures, tokens."""
    from ict_core.tools.site import write_site

    folders = [root / folder for root in (Path(), REPOSITORY) for folder in (study_folder(study), stored_folder(study))]
    whole = (f for f in folders if (f / "answer.md").exists() or next(f.rglob("*.html"), None))
    folder = next(whole, folders[-1])
    made = write_site(study, folder, out)
    print(f"{len(made)} pages of {folder}; open {out / 'index.html'}")


@command("verify", STUDY_GROUP)
def verify(
    cell: Annotated[
        Path | None, Argument(help=f"{CELL}; with --against results/STUDY (default: the stored study's)")
    ] = None,
    against: Annotated[Path | None, Option(metavar="STORED", help="run nothing: compare with this stored run")] = None,
    study: MaybeStudyFile = None,
    stages: Annotated[str | None, Option(help="with commas: pretrain or train, generate, grade (default: all)")] = None,
    steps: Annotated[int | None, Option(help="train so many optimiser steps only, and compare these")] = None,
    keep: Annotated[Path | None, Option(help="an empty folder that receives the rerun (default: none is left)")] = None,
) -> int:
    """Run a cell again, or compare a whole run with a stored one: status 0 if all is equal bit by bit, else 1."""
    if against is not None:
        given = {"study": study, "stages": stages, "steps": steps, "keep": keep}
        return _against(cell, against, [name for name, value in given.items() if value is not None])
    from ict_core.store.layout import StudyFiles
    from ict_core.store.manifests import read_manifest
    from ict_core.tools.place import place_of

    if cell is None:
        raise UserError("verify: missing; allowed: the folder of a cell, or --against FOLDER of a stored run")
    place = place_of(cell)
    file = study or study_file(place.results.name)
    loaded = study_to_run(file)
    from ict_core.tools.verify import compare, rerun  # which import numpy

    if place.cell not in {*loaded.all_bases(), *loaded.trained_cells(), *loaded.later_cells()}:
        raise UserError(f"{file}: no cell {place.cell.folder}; --study names the cell's own study")
    if loaded.is_tuned(place.cell):
        rate = loaded.rate_file(StudyFiles(place.results), place.cell)
        loaded = loaded.with_rate(place.cell, read_manifest(rate)["learning_rate"])
    place = replace(place, base_number=loaded.base_of(place.cell).seed)
    chosen = rerun.chosen_stages(place, loaded, stages, steps)
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise UserError(f"--keep {keep}: there are files in it; allowed: a new or an empty folder")
    with tempfile.TemporaryDirectory(prefix="ict-verify-") as folder:
        again = replace(place, results=keep or Path(folder))
        before = list(compare.changes_before(place, loaded, chosen))
        print(compare.changes_page(before), end="", flush=True)
        for stage, seconds in rerun.rerun(place, loaded, file, chosen, steps, again.results):
            print(f"{stage}: {seconds:.1f} s", file=sys.stderr)
        after = list(compare.changes_after(place, again, chosen))
        rows = [row for stage in chosen for row in compare.compare_stage(stage, place, again, steps)]
        print(compare.changes_page(after), end="")
        print(compare.verify_page(rows), end="")
        print(compare.verdict(rows, changed=bool(before or after), gpu=compare.on_gpu(place, again, chosen)))
        return int(not all(row.equal for row in rows))


def _against(run: Path | None, stored: Path, given: list[str]) -> int:
    from ict_core.store.layout import StudyFiles
    from ict_core.store.manifests import read_manifest
    from ict_core.tools.verify.compare import against

    if given:
        raise UserError(f"--{given[0]}: is for a cell; allowed with --against: the folder of a study's results alone")
    results = run or REPOSITORY / study_folder(read_manifest(StudyFiles(stored).settings)["study"])
    text, same = against(results, stored)
    print(text, end="")
    return int(not same)


@command("lease")
def lease(
    command: Annotated[list[str], Argument(help="after --")],
    gpus: Annotated[int, Option(help="how many; with 0 the command sees none")] = 0,
) -> int:
    """Run a command with GPUs of its own, once they are free, and explain how it dies if it does."""
    from ict_core.process.supervise import run_leased

    return run_leased(gpus, command)
