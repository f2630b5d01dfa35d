"""The progress of a job: lines in its log, which `ict status` reads, and a lock that shows whether it still runs."""

import fcntl
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

JOB = "ICT_JOB"  # environment variable that the workflow sets for its jobs
_BEGUN, _DONE = b"begun", b"ended"  # of one length: what a locked file holds, and that of a job that has succeeded
_GLANCE = 0.2  # seconds: longer than a check of a lock takes
_SECONDS = 10.0  # between two lines of progress
_LINE = re.compile(
    r"([a-z]+) (\d+) of (\d+)((?:, [a-z]+ (?:-?\d+(?:\.\d+)?(?:e[+-]\d+)?|-?inf|nan))*)(?:, (\d+ (?:s|min|h)) left)?"
)


def hold_log() -> bool:
    """If this is a job of the workflow that prints into a log, lock it until this process and all it starts have ended.

    Waits while another process runs the job: one that outlived a killed Snakemake, or a second Snakemake's. So a later
    process of a job replaces what an earlier one writes, never the other way round. The kernel frees the lock, however
    the processes die. On a file system without locks, nothing is locked.

    Returns whether this process has the lock now; if so, it must call :func:`tell_end` before it ends. The locked file
    is beside the log, as Snakemake deletes the log before each job. Its descriptor takes the place of the standard
    input, which no job reads: Python passes only the three standard streams on to what it starts.
    """
    log = _log_of_this()
    if log is None:
        return False
    lock = log.with_suffix(".lock")
    try:
        if lock.exists() and os.path.samestat(os.fstat(0), lock.stat()):
            return False  # the process that started this one has locked the job
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        if not try_lock(descriptor):
            time.sleep(_GLANCE)  # `ict status` may have checked it at this moment
            if not try_lock(descriptor):
                print(f"waiting for another process that is at this job (fuser {lock} names it)", flush=True)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.dup2(descriptor, 0)
        os.close(descriptor)
        os.write(0, _BEGUN)  # nothing is left to read after it
    except OSError:  # no descriptor, or a file system without locks: `ict status` does not see the job run
        return False
    return True


def tell_end(succeeded: bool) -> None:
    """Note that the process which holds a log ends in order, so that its log says why if it has not succeeded."""
    os.ftruncate(0, 0)
    if succeeded:
        os.pwrite(0, _DONE, 0)


def was_killed(log: Path) -> bool:
    """Whether the last process that held a job's log ended abruptly: it was killed, or its machine went down."""
    return _last(log) == _BEGUN and is_held(log) is False


def has_succeeded(log: Path) -> bool:
    """Whether the last process that held a job's log has succeeded, whatever libraries printed into the log."""
    return _last(log) == _DONE


def _last(log: Path) -> bytes:
    """What the last process that held a job's log has noted; empty without a log."""
    lock = log.with_suffix(".lock")
    return lock.read_bytes() if log.exists() and lock.exists() else b""


def is_held(log: Path) -> bool | None:
    """Whether a process holds the lock of :func:`hold_log`; None where that cannot be seen.

    It cannot without the lock's file, the right to read it, or locks in the file system.
    """
    try:
        with log.with_suffix(".lock").open("rb") as file:
            return not try_lock(file.fileno(), fcntl.LOCK_SH)
    except OSError:
        return None


def _log_of_this() -> Path | None:
    """The log to which the workflow has directed this job's output; None without one, or without /proc."""
    if JOB not in os.environ:  # a redirection of the user's own
        return None
    try:
        log = Path(f"/proc/self/fd/{sys.stdout.fileno()}").readlink()
    except OSError:
        return None
    log = log.with_name(log.name.removesuffix(" (deleted)"))  # Snakemake deletes it before it starts the job again
    return log if log.suffix == ".log" else None


def try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Lock a file unless another process holds its lock; return whether it is locked now."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Reading(NamedTuple):
    """The content of a line of progress."""

    unit: str  # what is counted: step, completion, answer
    done: int
    total: int
    values: Mapping[str, float]  # by name, such as the reward of the last step
    left: str = ""  # the time that the rest takes at the present rate; empty if unknown


def line(reading: Reading) -> str:
    """A reading in words: ``step 12 of 60, reward 0.43, 8 s left``."""
    values = [f"{name} {value:.3g}" for name, value in reading.values.items()]
    left = [f"{reading.left} left"] if reading.left else []
    return ", ".join([f"{reading.unit} {reading.done} of {reading.total}", *values, *left])


def read(text: str) -> Reading | None:
    """The reading from which :func:`line` made this text; None for any other text."""
    match = _LINE.fullmatch(text)
    if match is None:
        return None
    unit, done, total, values, left = match.groups()
    pairs = (pair.split(" ") for pair in values.split(", ")[1:])
    return Reading(unit, int(done), int(total), {name: float(value) for name, value in pairs}, left or "")


def duration(seconds: float) -> str:
    """A time in the unit that gives it two or three digits: ``8 s``, ``95 min``, ``30 h``."""
    for unit, length in (("s", 1), ("min", 60)):
        if round(seconds / length) < 100:
            return f"{round(seconds / length)} {unit}"
    return f"{round(seconds / 3600)} h"


class Progress:
    """Prints progress on standard error: at once, about every ten seconds, and when all is done."""

    def __init__(self, unit: str, total: int) -> None:
        self._unit, self._total = unit, total
        self._shown: tuple[float, int] | None = None  # the time of the last line, and how many were done then

    def update(self, done: int, **values: float) -> None:
        """Report how many are done now, and further values to print."""
        now = time.monotonic()
        if self._shown is not None and now < self._shown[0] + _SECONDS and done < self._total:
            return
        reading = Reading(self._unit, done, self._total, values, self._left(now, done))
        print(line(reading), file=sys.stderr, flush=True)
        self._shown = now, done

    def _left(self, now: float, done: int) -> str:
        """The time left by the rate since the last line; empty at the first, as the time before it may be loading."""
        if self._shown is None or done >= self._total or done <= self._shown[1]:
            return ""
        last_time, last_done = self._shown
        return duration((self._total - done) * (now - last_time) / (done - last_done))
