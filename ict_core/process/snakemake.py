"""Tells the locks that a killed Snakemake has left from those of a running one.

Snakemake locks a folder by files that it removes when it ends; they do not say which run made them. So each run also
holds a lock of the kernel, shared with other runs in the folder, which is free as soon as they are gone, however they
ended. If it is free, the files belong to no run. On a file system without locks, the files stay.
"""

import contextlib
import fcntl
import os
import shutil
from pathlib import Path

from ict_core.process.job_log import try_lock

_LOCK = "ict.lock"  # in .snakemake


def hold_folder(folder: Path) -> bool:
    """Hold Snakemake's folder as long as this process lives; if no other run does, remove the locks of killed ones.

    Returns whether no other run holds it; False also if that cannot be known.
    """
    try:
        folder.mkdir(exist_ok=True)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # Snakemake meets the same error, and reports it
        return False
    alone = False
    with contextlib.suppress(OSError):  # a file system without locks
        alone = try_lock(descriptor)
        if alone:
            shutil.rmtree(folder / "locks", ignore_errors=True)
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # waits while another run removes locks
    return alone
