"""The log that a job prints into, and the lock beside it that tells whether the job still runs."""

import fcntl
import os
import sys
import time
from pathlib import Path

_GLANCE = 0.2  # seconds: longer than a look at a lock takes


def hold_log() -> None:
    """Where this process's output goes into a log, lock the job until this process and all that it starts have ended.

    Waits while another process is at the job: the orphan of a killed Snakemake, or a second Snakemake's. So what an
    earlier process of a job writes, a later one replaces, never the other way round. The kernel frees the lock, however
    the processes die. Where a file system has no locks, nothing is locked.

    The lock is of a file beside the log, which Snakemake deletes before each job, and becomes the standard input: that
    is what every process inherits, those that Python starts included. To read it is to read nothing.
    """
    log = log_of_this()
    if log is None:
        return
    try:
        lock = log.with_suffix(".lock")
        if lock.exists() and os.path.samestat(os.fstat(0), lock.stat()):
            return  # the job is locked by who started this process
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        if not _lock(descriptor):
            time.sleep(_GLANCE)  # `ict status` may have looked at this moment
            if not _lock(descriptor):
                print(f"waiting for another process that is at this job (fuser {lock} names it)", flush=True)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.dup2(descriptor, 0)
        os.close(descriptor)
    except OSError:  # no descriptor, or a file system without locks: the job is then seen as started
        return


def is_held(log: Path) -> bool:
    """Whether a process holds the lock of :func:`hold_log`; False also where a file system has no locks."""
    try:
        with log.with_suffix(".lock").open("rb+") as file:
            return not _lock(file.fileno())
    except OSError:
        return False


def log_of_this() -> Path | None:
    """The log that this process's output goes into, deleted or not; None without one, and where there is no /proc."""
    try:
        log = Path(f"/proc/self/fd/{sys.stdout.fileno()}").readlink()
    except OSError:
        return None
    log = log.with_name(log.name.removesuffix(" (deleted)"))
    return log if log.suffix == ".log" else None


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
