"""The progress of a study, read from its files alone: its cells' outputs, its logs and their locks, and checksums."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tabulate import tabulate

from ict_core.config.study import Study
from ict_core.config.study_file import Cell
from ict_core.errors import visible
from ict_core.jobs.causes import cause, last_lines
from ict_core.jobs.damage import damaged
from ict_core.process.job_log import Reading, is_held, read
from ict_core.store.layout import BASE_VARIANT, StudyFiles


class Status(NamedTuple):
    """The progress of a cell, or of a job that belongs to no cell.

    A cell is `done`, or `stored` (on its own, not run here). Before its next job it is `waiting`, `trained` or
    `generated`. Otherwise its state is that job's: `running`, `failed` (its log says why) or `missing` (no error in the
    log, but not all outputs: they were deleted, or a cluster has the job). A damaged file is `damaged`, of no cell.
    """

    cell: Cell | None  # None for a job of no cell
    state: str
    stage: str = ""  # the rule of the job that is next or under way; empty once done
    note: str = ""  # why a job has failed, which outputs are missing, or what is wrong with a file
    reading: Reading | None = None  # the last progress in a running job's log


_HEADER = ("cell", "state", "stage", "step", "reward", "left", "note")
_UNDER_WAY = ("running", "failed", "missing")  # states that the totals name with their stage
_HAS = {"generate": "trained", "grade": "generated"}  # by the next job of a cell: its state before that job


def study_status(study: Study, results: Path, stored: Mapping[Cell, str]) -> list[Status]:
    """The status of every cell, of other jobs and of damaged files. `stored`: cells stored on their own, with notes."""
    files = StudyFiles(results)
    later = [cell for cell in study.later_cells() if cell in stored or files.cell(cell.folder).folder.exists()]
    statuses, logs = [], set()
    for cell in [*study.evaluated_cells(), *study.tuning_cells(), *later]:
        steps = _steps(study, files, cell)
        logs |= {files.log_of(rule, cell.folder) for rule in steps}
        statuses.append(Status(cell, "stored", note=stored[cell]) if cell in stored else _status(files, cell, steps))
    others = (log for log in sorted(files.logs.rglob("*.log")) if log not in logs)
    statuses += [status for log in others if (status := _of_log(log, log.relative_to(files.logs).with_suffix("")))]
    faults = (fault.replace(f"{results}/", "") for fault in damaged(results).values())
    return [*statuses, *(Status(None, "damaged", note=fault) for fault in faults)]


def _steps(study: Study, files: StudyFiles, cell: Cell) -> dict[str, tuple[Path, ...]]:
    """The outputs of each job of a cell, by the job's rule, in order."""
    paths = files.cell(cell.folder)
    made: dict[str, tuple[Path, ...]] = {"train": (paths.train,)}
    if cell.variant == BASE_VARIANT:
        model = study.models[cell.model]
        rule = "pretrain" if model.kind == "pretrained-from-scratch" else "fetch_model"
        made = {"supervised_start" if model.supervised_start else rule: (files.base_model(cell.model, cell.seed),)}
    if cell in study.evaluated:
        made |= {"generate": (paths.completions, paths.generation), "grade": (paths.grades, paths.grading)}
    return made


def _status(files: StudyFiles, cell: Cell, steps: Mapping[str, tuple[Path, ...]]) -> Status:
    """The status of a cell, by its first job whose outputs are not all there."""
    for number, (rule, outputs) in enumerate(steps.items()):
        missing = [output.relative_to(files.results).as_posix() for output in outputs if not output.exists()]
        if not missing:
            continue
        log = files.log_of(rule, cell.folder)
        if status := _of_log(log, rule):
            return status._replace(cell=cell)
        rest = [output for after in list(steps.values())[number:] for output in after]
        if log.exists() or any(output.exists() for output in rest):
            return Status(cell, "missing", rule, ", ".join(missing))
        return Status(cell, _HAS.get(rule, "waiting"), rule)
    return Status(cell, "done")


def _of_log(log: Path, job: Path | str) -> Status | None:
    """The status of a job that runs or has failed, by its log; None if the log shows neither."""
    if is_held(log):
        return Status(None, "running", str(job), reading=next(filter(None, map(read, last_lines(log))), None))
    return Status(None, "failed", str(job), why) if (why := cause(log)) else None


def status_records(statuses: Sequence[Status]) -> list[dict[str, Any]]:
    """The same for programs: a mapping per cell or job of the study, without what is unknown or no number of JSON."""
    rows = []
    for status in statuses:
        row: dict[str, Any] = {"cell": status.cell.folder if status.cell else None, "state": status.state}
        row |= {key: value for key, value in (("stage", status.stage), ("note", status.note)) if value}
        if status.reading is not None:
            values = {name: value for name, value in status.reading.values.items() if math.isfinite(value)}
            row |= {"step": status.reading.done, "of": status.reading.total, **values}
        rows.append(row)
    return rows


def status_brief(statuses: Sequence[Status]) -> str:
    """The totals alone, on one line."""
    cells = [s for s in statuses if s.cell is not None]
    totals = Counter(f"{s.state}: {s.stage}" if s.state in _UNDER_WAY else s.state for s in cells)
    return f"{len(cells)} cells: {', '.join(f'{number} {what}' for what, number in totals.most_common())}\n"


def status_page(statuses: Sequence[Status], width: int | None = None) -> str:
    """A table with a header and a line per status, cut at a screen's width if one is given, and the totals last."""
    table = tabulate([_HEADER, *map(_row, statuses)], tablefmt="plain", disable_numparse=True)
    return "\n".join([*(visible(line)[:width] for line in table.splitlines()), "", status_brief(statuses)])


def _row(status: Status) -> tuple[str, ...]:
    name, reading = status.cell.folder if status.cell else "the study", status.reading
    if reading is None:
        return name, status.state, status.stage, "", "", "", status.note
    reward = f"{reading.values['reward']:.3g}" if "reward" in reading.values else ""
    return name, status.state, status.stage, f"{reading.done}/{reading.total}", reward, reading.left, status.note
