"""The log that a job prints into, and the lock beside it that tells whether the job still runs."""

import fcntl
import os
import sys
import time
from pathlib import Path

_GLANCE = 0.2  # seconds: longer than a look at a lock takes


def hold_log() -> None:
    """Where this process prints into a log, lock the job until this process and all that it starts have ended.

    Waits while another process is at the job: one that outlived a killed Snakemake, or a second Snakemake's. So what an
    earlier process of a job writes, a later one replaces, never the other way round. The kernel frees the lock, however
    the processes die. Where a file system has no locks, nothing is locked.

    The lock is of a file beside the log, as Snakemake deletes the log before each job. Its descriptor takes the place
    of the standard input, which no job reads: Python hands only the three standard streams on to what it starts.
    """
    log = log_of_this()
    if log is None:
        return
    lock = _lock_of(log)
    try:
        if lock.exists() and os.path.samestat(os.fstat(0), lock.stat()):
            return  # the process that started this one has locked the job
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        if not _locked(descriptor):
            time.sleep(_GLANCE)  # `ict status` may have looked at this moment
            if not _locked(descriptor):
                print(f"waiting for another process that is at this job (fuser {lock} names it)", flush=True)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.dup2(descriptor, 0)
        os.close(descriptor)
    except OSError:  # no descriptor, or a file system without locks: the job is then seen as started
        return


def is_held(log: Path) -> bool:
    """Whether a process holds the lock of :func:`hold_log`; False also where a file system has no locks."""
    try:
        with _lock_of(log).open("rb+") as file:
            return not _locked(file.fileno())
    except OSError:
        return False


def log_of_this() -> Path | None:
    """The log that the shell has made this process's output; None without one, and where there is no /proc to ask."""
    try:
        log = Path(f"/proc/self/fd/{sys.stdout.fileno()}").readlink()
    except OSError:
        return None
    log = log.with_name(log.name.removesuffix(" (deleted)"))  # by Snakemake, before it starts the job again
    return log if log.suffix == ".log" else None


def _lock_of(log: Path) -> Path:
    return log.with_suffix(".lock")


def _locked(descriptor: int) -> bool:
    """Lock a file unless another process holds its lock; whether it is locked now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
