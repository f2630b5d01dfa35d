"""Ends what belongs to a run of Snakemake when the run ends: its jobs, the servers that fork them, temporary files.

The run holds a named pipe open in a folder of its own. When the run is gone, however it ended, the kernel closes the
pipe and sends SIGTERM to each job. A shell that waits for the same removes the folder, in which the jobs have their
temporary files and the servers their sockets. A server ends when its socket is gone. If a machine went down, the next
run removes what was left.
"""

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

RUN = "ICT_RUN"
"""Environment variable: the folder of the run that a job belongs to; unset if no run is to end the job."""

_PIPE = "alive"
_PREFIX = f"ict-{hashlib.sha256(platform.node().encode()).hexdigest()[:8]}-"  # a pipe is held on one machine alone
_REMOVE = 'trap "" HUP INT TERM; read -r _; for _ in $(seq 10); do rm -rf -- "$@"; sleep 1; done'
_told_by: list[int] = []  # the pipe that sends SIGTERM to this process, open until that is undone


def begin(*beside: Path) -> Path:
    """Have the jobs that this process starts from here on, their temporary files and those `beside` end with it.

    Returns the run's folder, which is removed as well.
    """
    for pipe in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_PIPE}"):
        with contextlib.suppress(OSError):  # another user's
            descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            if not _is_held(descriptor):
                shutil.rmtree(pipe.parent, ignore_errors=True)
            os.close(descriptor)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    pipe, files = folder / _PIPE, folder / "tmp"
    files.mkdir()
    os.mkfifo(folder / "unheld", 0o600)
    os.open(folder / "unheld", os.O_RDWR)  # held as long as this process lives: nothing that it starts inherits it
    (folder / "unheld").rename(pipe)  # only now, as another run removes the folder of a pipe that nobody holds
    fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_SH)  # systemd-tmpfiles leaves a locked folder alone
    with pipe.open("rb", buffering=0) as end:
        command = ["sh", "-c", _REMOVE, "sh", str(folder), *map(str, beside)]
        devnull = subprocess.DEVNULL
        subprocess.Popen(command, stdin=end, stdout=devnull, stderr=devnull, cwd="/", start_new_session=True)
    os.environ |= {RUN: str(folder), "TMPDIR": str(files)}
    tempfile.tempdir = str(files)  # Snakemake passes it on to its jobs
    return folder


def end_with_run() -> None:
    """Have the kernel send SIGTERM to this process when its run is gone; send it now if the run is gone already."""
    folder = os.environ.get(RUN)
    if not folder:
        return
    held = False
    with contextlib.suppress(FileNotFoundError):
        pipe = os.open(Path(folder, _PIPE), os.O_RDONLY | os.O_NONBLOCK)
        _told_by.append(pipe)
        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGTERM)
        fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)
        held = _is_held(pipe)
    if not held:
        os.kill(os.getpid(), signal.SIGTERM)


def outlive_run() -> None:
    """Undo :func:`end_with_run`."""
    while _told_by:
        os.close(_told_by.pop())


def _is_held(pipe: int) -> bool:
    """Whether a process has the pipe open for writing; nothing is ever written to it."""
    try:
        return bool(os.read(pipe, 1))
    except BlockingIOError:
        return True
