"""Why a job has failed, by its own log, and what is wrong with the disk if no log could be written."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ict_core.process.failures import FULL, explain
from ict_core.process.job_log import has_succeeded, was_killed
from ict_core.store.files import appearing

_TAIL = 2**18  # bytes at the end of a log that are searched for a cause
_LISTED = 10  # failed jobs in a summary
_SHOWN = 500  # characters of a line, at most
_RANK = re.compile(r"^\[rank\d+\]: ?", re.MULTILINE)
_TOLD = re.compile(r"^error: .*$", re.MULTILINE)  # printed by `ict` itself
_DIED = re.compile(r"^\S+ \S+ (?:was killed by|was ended by) .*$", re.MULTILINE)  # printed by `ict lease`
_KILLED = "it was killed (SIGKILL, most likely by the kernel's out-of-memory killer), or its machine went down"
_ENDED = re.compile(r"^(?:interrupted|ended by SIG\w+)$", re.MULTILINE)
_LAUNCHERS = ("subprocess.CalledProcessError", "torch.distributed.elastic")  # a rank's own error comes before theirs
_SPACE = "free some space"  # in every message about a full disk
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded|\(os error 28\)")


def cause(log: Path) -> str:
    """The line of a job's log that says why it has ended without its output; empty if none does."""
    if has_succeeded(log):
        return ""
    text = _RANK.sub("", _tail(log))
    killed = [_KILLED if was_killed(log) else ""]
    lines = _TOLD.findall(text) or _DIED.findall(text) or _raised(text) or _ENDED.findall(text) or killed
    full = _NO_SPACE.search(text)
    line = lines[-1] if len(lines[-1]) <= _SHOWN else f"{lines[-1][:_SHOWN]} ..."
    return f"{FULL} [{line or full[0]}]" if full and _SPACE not in line else line


def log_times(logs: Path) -> dict[Path, int]:
    """When each log was last written, in the file system's nanoseconds."""
    times = {}
    for log in sorted(logs.rglob("*.log")):
        with suppress(FileNotFoundError):  # a running Snakemake removes a log before its job
            times[log] = log.stat().st_mtime_ns
    return times


def failures(logs: Path, before: Mapping[Path, int]) -> list[str]:
    """A line for each job whose log says why it failed and has changed since `before`, and one for a bad disk.

    A log has changed if its time of :func:`log_times` is not the one in `before`, even if the clock was set back.
    """
    written = (log for log, time in log_times(logs).items() if before.get(log) != time)
    lines = [f"failed: {log.relative_to(logs).with_suffix('')}: {why}" for log in written if (why := cause(log))]
    lines[_LISTED:] = [f"... and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    fault = fault_of_disk(logs)
    return [*lines, f"error: {fault}"] if fault and not any(_SPACE in line for line in lines) else lines


def fault_of_disk(folder: Path) -> str:
    """The error of writing a small file into a folder now, in words; empty if there is none."""
    probe = folder / "ict-probe.tmp"
    try:
        with appearing(probe) as partial:
            partial.write_bytes(bytes(2**16))
        probe.unlink()
    except OSError as error:
        return str(explain(error, "", folder) or error)
    return ""


def last_lines(log: Path) -> list[str]:
    """The non-blank lines at the end of a log, the last first; each state of a progress bar is a line."""
    return [line.strip() for line in reversed(_tail(log).splitlines()) if line.strip()]


def _raised(text: str) -> list[str]:
    """The last line of every traceback, without the launchers' tracebacks if there are others."""
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
