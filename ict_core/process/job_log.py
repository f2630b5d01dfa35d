"""How far a job is: lines in its log from which `ict status` reads it; a lock tells whether it still runs."""

import fcntl
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_GLANCE = 0.2  # seconds: longer than a look at a lock takes
_SECONDS = 10.0  # between two lines
_LINE = re.compile(
    r"([a-z]+) (\d+) of (\d+)((?:, [a-z]+ (?:-?[\d.]+(?:e[+-]\d+)?|-?inf|nan))*)(?:, (\d+ (?:s|min|h)) left)?"
)


def hold_log() -> bool:
    """Where this process prints into a log, lock the job until this process and all that it starts have ended.

    Waits while another process is at the job: one that outlived a killed Snakemake, or a second Snakemake's. So what an
    earlier process of a job writes, a later one replaces, never the other way round. The kernel frees the lock, however
    the processes die. Where a file system has no locks, nothing is locked.

    True where this process has the lock now: then it is to call :func:`tell_end` before it ends. The lock is of a file
    beside the log, as Snakemake deletes the log before each job. Its descriptor takes the place
    of the standard input, which no job reads: Python hands only the three standard streams on to what it starts.
    """
    log = _log_of_this()
    if log is None:
        return False
    lock = log.with_suffix(".lock")
    try:
        if lock.exists() and os.path.samestat(os.fstat(0), lock.stat()):
            return False  # the process that started this one has locked the job
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        if not _locked(descriptor):
            time.sleep(_GLANCE)  # `ict status` may have looked at this moment
            if not _locked(descriptor):
                print(f"waiting for another process that is at this job (fuser {lock} names it)", flush=True)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.dup2(descriptor, 0)
        os.close(descriptor)
        os.write(0, b"begun")  # which leaves nothing to read after it
    except OSError:  # no descriptor, or a file system without locks: the job is then not seen to run
        return False
    return True


def tell_end() -> None:
    """Note that the process which holds a log ends in order, so that its log says why it ends if it has failed."""
    os.ftruncate(0, 0)


def was_killed(log: Path) -> bool:
    """Whether the last process that held a job's log ended without a word: it was killed, or its machine went down."""
    lock = log.with_suffix(".lock")
    return log.exists() and lock.exists() and lock.stat().st_size > 0 and not is_held(log)


def is_held(log: Path) -> bool:
    """Whether a process holds the lock of :func:`hold_log`; False also where a file system has no locks."""
    try:
        with log.with_suffix(".lock").open("rb+") as file:
            return not _locked(file.fileno())
    except OSError:
        return False


def _log_of_this() -> Path | None:
    """The log that the shell has made this process's output; None without one, and where there is no /proc to ask."""
    try:
        log = Path(f"/proc/self/fd/{sys.stdout.fileno()}").readlink()
    except OSError:
        return None
    log = log.with_name(log.name.removesuffix(" (deleted)"))  # by Snakemake, before it starts the job again
    return log if log.suffix == ".log" else None


def _locked(descriptor: int) -> bool:
    """Lock a file unless another process holds its lock; whether it is locked now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Reading(NamedTuple):
    """What a line of progress says."""

    unit: str  # what is counted: step, completion, answer
    done: int
    total: int
    values: Mapping[str, float]  # by name, such as the reward of the last step
    left: str = ""  # how long the rest takes at the present rate; empty where that is unknown


def line(reading: Reading) -> str:
    """A reading in words: ``step 12 of 60, reward 0.43, 8 s left``."""
    values = [f"{name} {value:.3g}" for name, value in reading.values.items()]
    left = [f"{reading.left} left"] if reading.left else []
    return ", ".join([f"{reading.unit} {reading.done} of {reading.total}", *values, *left])


def read(text: str) -> Reading | None:
    """What :func:`line` made a line of; None of any other text."""
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
    """Prints on standard error how far something is: at once, every ten seconds or so, and when it is done."""

    def __init__(self, unit: str, total: int) -> None:
        self._unit, self._total = unit, total
        self._shown: tuple[float, int] | None = None  # when the last line was, and how many were done

    def update(self, done: int, **values: float) -> None:
        """Tell how many are done now, and what else is to be shown."""
        now = time.monotonic()
        if self._shown is not None and now < self._shown[0] + _SECONDS and done < self._total:
            return
        reading = Reading(self._unit, done, self._total, values, self._left(now, done))
        print(line(reading), file=sys.stderr, flush=True)
        self._shown = now, done

    def _left(self, now: float, done: int) -> str:
        """By the rate since the last line; unknown at the first, before which something may have been loaded."""
        if self._shown is None or done >= self._total or done <= self._shown[1]:
            return ""
        then, before = self._shown
        return duration((self._total - done) * (now - then) / (done - before))
