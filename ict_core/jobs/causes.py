"""Why a job has failed, as its own log tells it, and what is wrong with the disk where no log could tell."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ict_core.process.failures import FULL, explain
from ict_core.process.job_log import was_killed
from ict_core.store.files import remove

_TAIL = 2**18  # bytes at the end of a log in which a cause is looked for
_LISTED = 10  # failed jobs in a summary
_SHOWN = 500  # characters of a line
_RANK = re.compile(r"^\[rank\d+\]: ?", re.MULTILINE)
_TOLD = re.compile(r"^error: .*$", re.MULTILINE)  # by `ict` itself
_DIED = re.compile(r"^\S+ \S+ (?:was killed by|was ended by) .*$", re.MULTILINE)  # by `ict lease`
_KILLED = "it was killed (SIGKILL, most likely by the kernel's out-of-memory killer), or its machine went down"
_ENDED = re.compile(r"^(?:interrupted|ended by SIG\w+)$", re.MULTILINE)
_LAUNCHERS = ("subprocess.CalledProcessError", "torch.distributed.elastic")  # a rank's own error stands before theirs
_SPACE = "free some space"  # in what is said of a full disk
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded|\(os error 28\)")


def cause(log: Path) -> str:
    """The line of a job's log that says why it has ended without its output; empty where none does."""
    text = _RANK.sub("", _tail(log))
    killed = [_KILLED if was_killed(log) else ""]
    lines = _TOLD.findall(text) or _DIED.findall(text) or _raised(text) or _ENDED.findall(text) or killed
    full = _NO_SPACE.search(text)
    line = lines[-1] if len(lines[-1]) <= _SHOWN else f"{lines[-1][:_SHOWN]} ..."
    return f"{FULL} [{line or full[0]}]" if full and _SPACE not in line else line


def log_times(logs: Path) -> dict[Path, int]:
    """When each log was last written, in the file system's nanoseconds."""
    return {log: log.stat().st_mtime_ns for log in sorted(logs.rglob("*.log"))}


def failures(logs: Path, before: Mapping[Path, int]) -> list[str]:
    """A line for each job whose log tells why and is another one than `before`, and one for a bad disk.

    Another time than then, of :func:`log_times`, tells so even where the clock was set back.
    """
    written = (log for log, time in log_times(logs).items() if before.get(log) != time)
    lines = [f"failed: {log.relative_to(logs).with_suffix('')}: {told}" for log in written if (told := cause(log))]
    lines[_LISTED:] = [f"... and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    fault = fault_of_disk(logs)
    return [*lines, f"error: {fault}"] if fault and not any(_SPACE in line for line in lines) else lines


def fault_of_disk(folder: Path) -> str:
    """What keeps a small file from being written into a folder now; empty where nothing does."""
    probe = folder / ".ict-probe.partial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with probe.open("wb") as file:
                file.write(bytes(2**16))
                file.flush()
                os.fsync(file.fileno())
        finally:
            remove(probe)
    except OSError as error:
        return str(explain(error, "", folder) or error)
    return ""


def last_lines(log: Path) -> list[str]:
    """The lines at the end of a text that are not blank, the last first; of a progress bar each state."""
    return [line.strip() for line in reversed(_tail(log).splitlines()) if line.strip()]


def _raised(text: str) -> list[str]:
    """The last line of every traceback, without those of the launchers if there are others."""
    raised, inside = [], False
    for line in text.splitlines():
        if line.startswith("Traceback (most recent call last):"):
            inside = True
        elif inside and line.strip() and not line[0].isspace():
            raised.append(line)
            inside = False
    return [line for line in raised if not line.startswith(_LAUNCHERS)] or raised


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            return file.read().decode(errors="replace").replace("\r", "\n")
    except OSError:
        return ""
