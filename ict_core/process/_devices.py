"""Leases of the GPUs of one node: no two jobs hold a device at once, and a lease ends with its job.

A lease is an exclusive ``flock`` on a file named after the device's UUID. The locks' file descriptors are inherited by
the job's command, a child of this process, and the kernel frees the devices when the last process that inherited the
locks is gone, however it died.
"""

import fcntl
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ict_core.errors import UserError
from ict_core.process._supervise import supervise

LOCKS = "ICT_LOCKS"  # environment variable: the folder of the lock files
MASK = "CUDA_VISIBLE_DEVICES"
INVENTORY = ("nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader")
WAIT = (0.1, 0.4)  # seconds between two tries


@dataclass(frozen=True)
class Gpu:
    """A GPU as ``nvidia-smi`` lists it: indices follow the PCI bus and are renumbered in a cgroup, UUIDs stay."""

    index: int
    uuid: str


def run_leased(count: int, command: Sequence[str], retries: int) -> int:
    """Run ``command`` with ``count`` GPUs of its own; waits for them. With 0, no GPU is visible to it.

    Returns:
        what :func:`ict_core.process._supervise.supervise` returns.

    Raises:
        UserError: at once when the command is not to be found or so many GPUs can never be had.
    """
    if count < 0:
        raise UserError(f"--gpus {count}: a number of GPUs from 0 on")
    if shutil.which(command[0]) is None:
        raise UserError(f"{command[0]}: no such command")
    devices = lease(count, allowed(installed(), os.environ.get(MASK))) if count else []
    os.environ[MASK] = ",".join(str(device.index) for device in devices)
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # so that CUDA counts as nvidia-smi does
    return supervise(command, retries)


def installed() -> list[Gpu]:
    """All GPUs that this process can see."""
    try:
        result = subprocess.run(INVENTORY, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UserError(
            "nvidia-smi: not found, so there is no GPU to lease; run on a GPU node, or with 0 GPUs"
        ) from None
    if result.returncode:
        raise UserError(f"{' '.join(INVENTORY)} failed: {(result.stderr or result.stdout).strip()}")
    rows = [line.split(",") for line in result.stdout.splitlines() if line.strip()]
    return [Gpu(int(index), uuid.strip()) for index, uuid in rows]


def allowed(devices: Sequence[Gpu], mask: str | None) -> list[Gpu]:
    """The devices that CUDA_VISIBLE_DEVICES leaves: all without one, none if it is empty or -1."""
    if mask is None:
        return list(devices)
    entries = [] if mask.strip() in ("", "-1") else [part.strip() for part in mask.split(",")]
    names = {str(device.index): device for device in devices} | {device.uuid: device for device in devices}
    for entry in entries:
        if entry not in names:
            known = ", ".join(f"{device.index} ({device.uuid})" for device in devices) or "none"
            raise UserError(f"{MASK}={mask}: {entry!r} is no GPU of this node; allowed: {known}")
    return list(dict.fromkeys(names[entry] for entry in entries))


def lease(count: int, devices: Sequence[Gpu]) -> list[Gpu]:
    """``count`` of the devices, locked until this process, and all that inherit its locks, end.

    All or none: a try that finds too few free ones lets go of them before it waits, so that no two jobs wait for each
    other.

    Raises:
        UserError: there are fewer than ``count``.
    """
    if count > len(devices):
        few = ", ".join(str(device.index) for device in devices) or "none"
        raise UserError(f"--gpus {count}: only {len(devices)} may be used here ({few}; {MASK}={os.environ.get(MASK)})")
    folder = lock_folder()
    said = False
    while True:
        held: dict[Gpu, int] = {}
        for device in devices:
            if len(held) < count and (lock := _try(folder / f"{device.uuid}.lock")) is not None:
                held[device] = lock
        for descriptor in held.values():
            if len(held) == count:
                os.set_inheritable(descriptor, True)
            else:
                os.close(descriptor)
        if len(held) == count:
            return list(held)
        if not said:
            print(f"waiting for {count} of the GPUs {[d.index for d in devices]}, leased in {folder}", file=sys.stderr)
            said = True
        time.sleep(random.uniform(*WAIT))


def lock_folder() -> Path:
    """Where the lock files lie: $ICT_LOCKS, or one folder a user. Not $TMPDIR, which differs between jobs of a node."""
    folder = Path(os.environ.get(LOCKS) or f"/tmp/ict-locks-{os.getuid()}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; name a folder for the GPUs' locks in {LOCKS}") from None
    return folder


def _try(path: Path) -> int | None:
    """The descriptor of the locked file, or None if another process holds the lock."""
    try:
        if not path.exists():
            path.touch()
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; name a folder for the GPUs' locks in {LOCKS}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
