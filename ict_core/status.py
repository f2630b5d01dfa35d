"""How far a study has come, read from its files alone: by its cells' outputs and logs, and Snakemake's own markers."""

import fcntl
import os
import sys
import time
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ict_core.columns import columns
from ict_core.progress import Reading, read

if TYPE_CHECKING:
    from ict_core.config import Cell

_TAIL = 4096  # bytes at the end of a log in which its last line is looked for
_GLANCE = 0.2  # seconds: longer than a look at a lock takes


class Stage(NamedTuple):
    """A job of a cell.

    Attributes:
        name: of the rule.
        output: by which the job is known to have ended well; it appears whole or not at all.
        log: what the job prints; of two names the one that is there.
    """

    name: str
    output: Path
    log: Path


class Status(NamedTuple):
    """How far a cell is.

    Attributes:
        cell: which one.
        state: `done`; `trained`, `generated`, `waiting`: what it has, its next job not begun; or of that job `running`,
            `started` (Snakemake has begun it, and nothing tells whether it still runs), `failed` (it has ended without
            its output, by an error or an interrupt).
        stage: the job that is next or under way; none once done.
        note: the last line of a failed job's log.
        reading: the last progress that a running job's log tells; None while there is none.
    """

    cell: "Cell"
    state: str
    stage: str = ""
    note: str = ""
    reading: Reading | None = None


_HEADER = ("cell", "state", "stage", "step", "reward", "left", "note")
_UNDER_WAY = ("running", "started", "failed")  # whose stage says more than the state
_HAS = {"generate": "trained", "grade": "generated"}  # what a cell has whose next job is this one


def hold_log() -> None:
    """Where this process's output goes into a log, lock the job until this process and all that it starts have ended.

    Waits while another process is at the job: the orphan of a killed Snakemake, or a second Snakemake's. So what an
    earlier process of a job writes, a later one replaces, never the other way round. The kernel frees the lock, however
    the processes die. Where a file system has no locks, nothing is locked.

    The lock is of a file beside the log, which Snakemake deletes before each job, and becomes the standard input: that
    is what every process inherits, those that Python starts included. To read it is to read nothing.
    """
    try:
        lock = _lock_of(Path(f"/proc/self/fd/{sys.stdout.fileno()}").readlink())
        if lock is None or (lock.exists() and os.path.samestat(os.fstat(0), lock.stat())):
            return  # no log, or the job is locked by who started this process
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        if not _lock(descriptor):
            time.sleep(_GLANCE)  # `ict status` may have looked at this moment
            if not _lock(descriptor):
                print(f"waiting for another process that is at this job (fuser {lock} names it)", flush=True)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.dup2(descriptor, 0)
        os.close(descriptor)
    except OSError:  # no descriptor, no /proc, or a file system without locks: the job is then seen as started
        return


def is_held(log: Path) -> bool:
    """Whether a process holds the lock of :func:`hold_log`; False also where a file system has no locks."""
    try:
        with log.with_suffix(".lock").open("rb+") as file:
            return not _lock(file.fileno())
    except OSError:
        return False


def _lock_of(log: Path) -> Path | None:
    """The file that is locked for a job with this log, deleted or not; None for what is no log."""
    log = log.with_name(log.name.removesuffix(" (deleted)"))
    return log.with_suffix(".lock") if log.suffix == ".log" else None


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def begun(root: Path) -> frozenset[Path]:
    """The outputs whose jobs Snakemake has begun and not seen end, of the repository that it runs in.

    It marks each by a file under ``.snakemake/incomplete``, named by the output's path in base64; a long name is split
    into folders that begin with ``@``.
    """
    folder = root / ".snakemake" / "incomplete"
    names = (path.relative_to(folder).parts for path in folder.rglob("*") if path.is_file())
    return frozenset(root / urlsafe_b64decode("".join(part.removeprefix("@") for part in n)).decode() for n in names)


def stages(results: Path, cell: "Cell", base: bool) -> Iterator[Stage]:
    """The jobs of a cell in their order.

    Args:
        results: the study's folder.
        cell: one of the study's.
        base: whether it is an untrained model.
    """
    logs, name = results / "logs", cell.folder
    if base:
        made = logs / "pretrain" / f"{cell.model}.log"
        fetched = logs / "fetch_model" / f"{cell.model}.log"
        output = results / cell.model / cell.variant / "model"
        yield Stage("fetch_model", output, fetched) if fetched.exists() else Stage("pretrain", output, made)
    else:
        yield Stage("train", results / name / "train", logs / "train" / f"{name}.log")
    yield Stage("generate", results / name / "completions.parquet", logs / "generate" / f"{name}.log")
    yield Stage("grade", results / name / "grades.parquet", logs / "grade" / f"{name}.log")


def status(results: Path, cell: "Cell", base: bool, marked: frozenset[Path]) -> Status:
    """How far one cell is: the state of its first job without output.

    Args:
        results: the study's folder.
        cell: one of the study's.
        base: whether it is an untrained model.
        marked: what :func:`begun` returns.
    """
    for stage in stages(results, cell, base):
        if stage.output.exists():
            continue
        if is_held(stage.log):
            return Status(cell, "running", stage.name, reading=last_reading(stage.log))
        if stage.output in marked:
            return Status(cell, "started", stage.name)
        if stage.log.exists():
            return Status(cell, "failed", stage.name, last_line(stage.log))
        return Status(cell, _HAS.get(stage.name, "waiting"), stage.name)
    return Status(cell, "done")


def last_line(log: Path) -> str:
    """The last line of a text that is not blank; of a progress bar what it showed last."""
    return next(iter(_last_lines(log)), "")


def last_reading(log: Path) -> Reading | None:
    """The last progress near the end of a log."""
    return next((reading for text in _last_lines(log) if (reading := read(text)) is not None), None)


def _last_lines(log: Path) -> list[str]:
    """The lines at the end of a text that are not blank, the last first."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL))
        lines = file.read().decode(errors="replace").replace("\r", "\n").splitlines()
    return [line.strip() for line in reversed(lines) if line.strip()]


def status_page(statuses: Sequence[Status], width: int | None = None) -> str:
    """A table with a header and a line a cell, and the totals last.

    Args:
        width: of the screen, at which the table's lines are cut; None: nowhere.
    """
    lines = [line[:width] for line in columns([_HEADER, *map(_row, statuses)]).splitlines()]
    totals = Counter(f"{s.state}: {s.stage}" if s.state in _UNDER_WAY else s.state for s in statuses)
    counts = ", ".join(f"{number} {what}" for what, number in totals.most_common())
    return "\n".join([*lines, "", f"{len(statuses)} cells: {counts}", ""])


def _row(status: Status) -> tuple[str, ...]:
    name, found = status.cell.folder, status.reading
    if found is None:
        return name, status.state, status.stage, "", "", "", status.note
    reward = f"{found.values['reward']:.3g}" if "reward" in found.values else ""
    return name, status.state, status.stage, f"{found.done}/{found.total}", reward, found.left, status.note
