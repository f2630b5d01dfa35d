"""How far a study has come, read from its files alone: by its cells' outputs and logs, and Snakemake's own markers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tabulate import tabulate

from ict_core.errors import Damaged
from ict_core.jobs._causes import cause, last_lines
from ict_core.jobs.outputs import Stage, base_job, cell_jobs, data_job, train_job
from ict_core.process import Reading, duration, is_held, read
from ict_core.store import BASE_VARIANT, StudyFiles

if TYPE_CHECKING:
    from ict_core.config import Cell, Study


class Status(NamedTuple):
    """How far a cell is, or a job of the whole study.

    Its state is `done`; `stored` (on its own, not run here); `trained`, `generated`, `waiting`: what it has, its next
    job not begun; or of that job
    `running`, `started` (Snakemake has begun it, and nothing tells whether it still runs), `failed` (its log says why),
    `missing` (its log tells of no error, and its outputs are not all there: deleted, or it was killed), `damaged` (an
    output is not what the job left).
    """

    cell: "Cell | None"  # None for a job of the whole study
    state: str
    stage: str = ""  # the job that is next or under way; none once done
    note: str = ""  # why a job has failed, which outputs are missing, or what is wrong with one
    reading: Reading | None = None  # the last progress that a running job's log tells


_LOST = ("missing", "damaged")
_MEND = "snakemake makes anew what is missing or damaged, and what follows from it"
_HEADER = ("cell", "state", "stage", "step", "reward", "left", "note")
_UNDER_WAY = ("running", "started", "failed", *_LOST)  # whose stage says more than the state
_JOBS = {"base": "base model", "made": "training", "generate": "generation", "grade": "grading"}
_HAS = {"generate": "trained", "grade": "generated"}  # what a cell has whose next job is this one


def status(
    results: Path,
    cell: "Cell",
    base: "Cell",
    marked: frozenset[Path],
    faults: Mapping[Path, str] = MappingProxyType({}),
    *,
    evaluated: bool = True,
) -> Status:
    """How far one cell is: the state of its first job whose outputs are not all there as they were left.

    `base` is the untrained model that the cell begins with, or is; `marked` and `faults` are what :func:`begun` and
    :func:`damaged` return. A cell that is not `evaluated` is done once it is trained.
    """
    own = cell_jobs(results, cell, cell == base) if evaluated else [train_job(results, cell)]
    if any(output.exists() for stage in own for output in stage.outputs):  # so is what it was made from, or was
        for stage in [data_job(results), *([] if cell == base else [base_job(results, base)])]:
            if lost := _lost(results, stage, faults):
                return Status(cell, lost[0], stage.name, lost[1])
    states = (_state(results, own[number:], marked, faults) for number in range(len(own)))
    first = next(filter(None, states), Status(None, "done"))._replace(cell=cell)
    return first._replace(state=_HAS.get(first.stage, "waiting")) if first.state == "waiting" else first


def study_status(
    results: Path, stages: Sequence[Stage], marked: frozenset[Path], faults: Mapping[Path, str]
) -> list[Status]:
    """Those of these jobs of the whole study that are under way, or whose outputs are not as they were left."""
    states = [_state(results, [stage], marked, faults) for stage in stages]
    return [state for state in states if state is not None and state.state != "waiting"]


def missing_cost(study: "Study", results: Path, stored: Mapping["Cell", Path]) -> str:
    """What the jobs that have not been run cost, by the mean time of finished ones of their stage and model, in a line.

    Those of the `stored` cells count as finished. Empty where nothing is missing.
    """
    from ict_core.evidence import LocalOutcome, StoredOutcome, stages_of

    missing: Counter[tuple[str, str]] = Counter()  # stage and model
    seconds: dict[tuple[str, str], list[float]] = {}
    for cell in [*study.all_bases(), *study.trained_cells()]:
        local = LocalOutcome(StudyFiles(results), cell)
        for stage in stages_of(study, cell):
            kind = (stage if cell.variant != BASE_VARIANT or stage != "made" else "base", cell.model)
            if cell not in stored and not local.manifests[stage].exists():
                missing[kind] += 1
                continue
            try:
                job = (StoredOutcome(stored[cell]) if cell in stored else local).job(stage)
            except Damaged:  # which is made anew
                missing[kind] += 1
                continue
            if "taken_over" not in job:
                seconds.setdefault(kind, []).append(job["wall_seconds"])
    if not missing:
        return ""
    known = {kind: sum(took) / len(took) for kind, took in seconds.items()}
    jobs = ", ".join(f"{number} x {_JOBS[stage]} of {model}" for (stage, model), number in sorted(missing.items()))
    unknown = "" if missing.keys() <= known.keys() else " (and what has not been run once yet)"
    total = sum(number * known.get(kind, 0.0) for kind, number in missing.items())
    return f"missing: {jobs}: about {duration(total)} of jobs by the finished ones{unknown}\n"


def _state(
    results: Path, stages: Sequence[Stage], marked: frozenset[Path], faults: Mapping[Path, str]
) -> Status | None:
    """Of the first of these jobs, which follow on each other; None once it is done."""
    stage, lost = stages[0], _lost(results, stages[0], faults)
    if lost is None:
        return None
    if is_held(stage.log):
        return Status(None, "running", stage.name, reading=last_reading(stage.log))
    if not marked.isdisjoint(stage.outputs):
        return Status(None, "started", stage.name)
    if lost[0] == "missing" and (why := cause(stage.log)):
        return Status(None, "failed", stage.name, why)
    known = lost[0] == "damaged" or stage.log.exists() or any(o.exists() for after in stages for o in after.outputs)
    return Status(None, lost[0], stage.name, lost[1]) if known else Status(None, "waiting", stage.name)


def _lost(results: Path, stage: Stage, faults: Mapping[Path, str]) -> tuple[str, str] | None:
    """Whether outputs of a job are damaged or missing, and which; None where none is."""
    told = [faults[output].replace(f"{results}/", "") for output in stage.outputs if output in faults]
    missing = [output.relative_to(results).as_posix() for output in stage.outputs if not output.exists()]
    if told:
        return "damaged", "; ".join(told)
    return ("missing", ", ".join(missing)) if missing else None


def last_reading(log: Path) -> Reading | None:
    """The last progress near the end of a log."""
    return next((reading for text in last_lines(log) if (reading := read(text)) is not None), None)


def status_records(statuses: Sequence[Status]) -> list[dict[str, Any]]:
    """The same for programs: a mapping a cell or job of the study, without what is not known of it."""
    rows = []
    for status in statuses:
        row: dict[str, Any] = {"cell": status.cell.folder if status.cell else None, "state": status.state}
        row |= {key: value for key, value in (("stage", status.stage), ("note", status.note)) if value}
        if status.reading is not None:
            row |= {"step": status.reading.done, "of": status.reading.total, **status.reading.values}
        rows.append(row)
    return rows


def status_brief(statuses: Sequence[Status]) -> str:
    """The totals alone, in a line."""
    return status_page(statuses).rstrip().split("\n\n")[-1].splitlines()[0] + "\n"


def status_page(statuses: Sequence[Status], width: int | None = None) -> str:
    """A table with a header and a line a cell, cut at a screen's width if one is given, and the totals last."""
    table = tabulate([_HEADER, *map(_row, statuses)], tablefmt="plain", disable_numparse=True)
    lines = [line[:width] for line in table.splitlines()]
    cells = [s for s in statuses if s.cell is not None]
    totals = Counter(f"{s.state}: {s.stage}" if s.state in _UNDER_WAY else s.state for s in cells)
    counts = ", ".join(f"{number} {what}" for what, number in totals.most_common())
    mend = [_MEND] if any(s.state in _LOST for s in statuses) else []
    return "\n".join([*lines, "", f"{len(cells)} cells: {counts}", *mend, ""])


def _row(status: Status) -> tuple[str, ...]:
    name, reading = status.cell.folder if status.cell else "the study", status.reading
    if reading is None:
        return name, status.state, status.stage, "", "", "", status.note
    reward = f"{reading.values['reward']:.3g}" if "reward" in reading.values else ""
    return name, status.state, status.stage, f"{reading.done}/{reading.total}", reward, reading.left, status.note
