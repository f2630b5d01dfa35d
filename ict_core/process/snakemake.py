"""Locks that a killed Snakemake has left, told from those of one that runs.

Snakemake's lock is files that it removes when it ends, and they do not say whose they are. So each run also holds a
lock of the kernel's, shared with other runs in the folder, which is free as soon as they are gone, however they ended.
Where it is free, the files are nobody's. Where a file system has no locks, the files stay.
"""

import contextlib
import fcntl
import os
import shutil
from pathlib import Path

_LOCK = "ict.lock"  # in .snakemake


def hold_folder(folder: Path) -> bool:
    """Hold Snakemake's folder as long as this process lives; where no other run does, remove the locks of killed ones.

    Returns whether no other run holds it; False also where nothing tells.
    """
    try:
        folder.mkdir(exist_ok=True)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # which Snakemake meets as well, and tells
        return False
    alone = False
    with contextlib.suppress(OSError):  # another run has it, or there are no locks
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        alone = True
        shutil.rmtree(folder / "locks", ignore_errors=True)
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # waits while another one removes
    return alone
