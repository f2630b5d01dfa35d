"""Runs a command as a child that ends with this process, and explains its death. Snakemake tries again (`retries`).

The command may have GPUs of the node for itself. A lease is an exclusive ``flock`` on a file named after the device's
UUID. The child inherits the locks' file descriptors, and the kernel frees the devices when the last process that
inherited them is gone, however it died.
"""

import ctypes
import fcntl
import functools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ict_core.errors import UserError
from ict_core.process.forkserver import FOLDER, MASK, Forked, fork
from ict_core.process.job_log import try_lock

LOCKS = "ICT_LOCKS"  # environment variable: the folder of the lock files
INVENTORY = ("nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader")
WAIT = (0.1, 0.4)  # seconds between two tries of a lease

_ENDING = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
_PASSED = _ENDING | {signal.SIGUSR1, signal.SIGUSR2}
_WAKING = {signal.SIGCHLD, signal.SIGIO}  # sent at a child's end, and at a forked job's
_LOOK = 1.0  # seconds between two checks of the child; usually its end wakes this process
_SI_KERNEL = 0x80  # sent by the terminal, to the whole process group
_PR_SET_PDEATHSIG = 1
_MEMORY = (
    "most likely the kernel's out-of-memory killer; give the job more memory (hardware.memory_gib of the model's file, "
    "Snakemake's mem_mb), or let fewer jobs run at a time (--cores)"
)
_CRASH = "a fault of a library or of the machine, not of the configuration"
_CAUSES: dict[int, str] = {  # of a death that nobody requested
    signal.SIGKILL: _MEMORY,
    signal.SIGBUS: f"a full disk or /dev/shm under a mapped file, or {_CRASH}",
    **dict.fromkeys((signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL), _CRASH),
}


def supervise(command: Sequence[str]) -> int:
    """Run a command to its end and return its exit status: 128 + n if signal n killed it, which a line explains.

    SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on. The child is killed when this process dies.
    """
    with _signals_held() as before:
        return _until_its_end(command, fork(command, os.environ) or _Started(command, before))


def forked(command: Sequence[str]) -> int | None:
    """The same for a command that a server runs (:mod:`ict_core.process.forkserver`); None if none does."""
    with _signals_held():
        job = fork(command, os.environ)
        return None if job is None else _until_its_end(command, job)


def end_with_parent() -> None:
    """Have the kernel kill this process when its parent is gone, such as a rank whose launcher was killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def _signals_held() -> Iterator[set[int]]:
    """Block the signals, for :func:`_until_its_end` to take one by one; yields those that were blocked before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED | _WAKING)
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _until_its_end(command: Sequence[str], job: "Forked | _Started") -> int:
    requested = False  # this process was told to end
    while (ended := job.end()) is None:
        received = signal.sigtimedwait(_PASSED | _WAKING, _LOOK)
        if received is not None and received.si_signo in _PASSED:
            requested |= received.si_signo in _ENDING
            if received.si_code != _SI_KERNEL or isinstance(job, Forked):  # a forked job is not in the terminal's group
                job.signal(received.si_signo)
    status, peak_mib = ended
    if status >= 0:
        return status
    killer = next((known.name for known in signal.Signals if known == -status), f"signal {-status}")
    if requested or -status not in _CAUSES:
        how = f"was ended by {killer}"
    else:
        how = f"was killed by {killer} ({_CAUSES[-status]}; peak memory {peak_mib:.0f} MiB)"
    print(f"{' '.join(command[:2])} {how}", file=sys.stderr, flush=True)
    return 128 - status


class _Started:
    """A command as a child of this process; its methods are those of :class:`ict_core.process.forkserver.Forked`."""

    def __init__(self, command: Sequence[str], mask: set[int]) -> None:
        self._process = subprocess.Popen(
            command,
            close_fds=False,  # leases are inherited
            env={name: value for name, value in os.environ.items() if name != FOLDER},  # the child asks no server
            preexec_fn=functools.partial(_become_child, os.getpid(), mask),
        )

    def signal(self, number: int) -> None:
        os.kill(self._process.pid, number)

    def end(self) -> tuple[int, float] | None:
        pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        if not pid:
            return None
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode, usage.ru_maxrss / 1024


def _become_child(parent: int, mask: set[int]) -> None:
    end_with_parent()
    if os.getppid() != parent:  # the parent has died already
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@dataclass(frozen=True)
class Gpu:
    """A GPU as ``nvidia-smi`` lists it: indices follow the PCI bus and change in a cgroup, UUIDs stay."""

    index: int
    uuid: str


def run_leased(count: int, command: Sequence[str]) -> int:
    """:func:`supervise` ``command`` with ``count`` GPUs of its own; waits for them. With 0, no GPU is visible to it.

    UserError at once if ``count`` is negative, the command does not exist, or there are never so many GPUs.
    """
    if count < 0:
        raise UserError(f"--gpus {count}: a number of GPUs from 0 on")
    if shutil.which(command[0]) is None:
        raise UserError(f"{command[0]}: no such command")
    devices = lease(count, allowed(installed(), os.environ.get(MASK))) if count else []
    os.environ[MASK] = ",".join(str(device.index) for device in devices)
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # so that CUDA counts as nvidia-smi does
    return supervise(command)


def installed() -> list[Gpu]:
    """All GPUs that this process can see."""
    try:
        result = subprocess.run(INVENTORY, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        fault = "nvidia-smi: not found, so there is no GPU to lease; run on a GPU node, or with 0 GPUs"
        raise UserError(fault) from None
    if result.returncode:
        raise UserError(f"{' '.join(INVENTORY)} failed: {(result.stderr or result.stdout).strip()}")
    rows = [line.split(",") for line in result.stdout.splitlines() if line.strip()]
    return [Gpu(int(index), uuid.strip()) for index, uuid in rows]


def allowed(devices: Sequence[Gpu], mask: str | None) -> list[Gpu]:
    """The devices that CUDA_VISIBLE_DEVICES (``mask``) allows: all if it is unset, none if it is empty or -1."""
    if mask is None:
        return list(devices)
    entries = [] if mask.strip() in ("", "-1") else [part.strip() for part in mask.split(",")]
    found: list[Gpu] = []
    for entry in entries:  # CUDA takes the beginning of a UUID too, if it is of one device alone
        is_uuid = entry.startswith("GPU-")
        named = [gpu for gpu in devices if entry == str(gpu.index) or (is_uuid and gpu.uuid.startswith(entry))]
        if len(named) != 1:
            choices = ", ".join(f"{device.index} ({device.uuid})" for device in devices) or "none"
            raise UserError(f"{MASK}={mask}: {entry!r} is no GPU of this node; allowed: {choices}")
        found += named
    return list(dict.fromkeys(found))


def lease(count: int, devices: Sequence[Gpu]) -> list[Gpu]:
    """``count`` of the devices, locked until this process and all that inherit its locks have ended.

    All or none: an attempt that finds too few free devices releases them before it waits, so that no two jobs wait for
    each other. UserError if there are fewer than ``count`` devices.
    """
    if count > len(devices):
        ids = ", ".join(str(device.index) for device in devices) or "none"
        raise UserError(f"--gpus {count}: only {len(devices)} may be used here ({ids}; {MASK}={os.environ.get(MASK)})")
    folder = Path(os.environ.get(LOCKS) or f"/tmp/ict-locks-{os.getuid()}")  # not $TMPDIR, which differs between jobs
    announced = False
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
            if held:  # systemd-tmpfiles removes old files, also locked ones, but none in a locked folder
                fcntl.flock(shared := os.open(folder, os.O_RDONLY), fcntl.LOCK_SH)
                os.set_inheritable(shared, True)
            return list(held)
        if not announced:
            print(f"waiting for {count} of the GPUs {[d.index for d in devices]}, leased in {folder}", file=sys.stderr)
            announced = True
        time.sleep(random.uniform(*WAIT))


def _try(path: Path) -> int | None:
    """The descriptor of the locked file, or None if another process holds the lock."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.touch()
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}; name a folder for the GPUs' locks in {LOCKS}") from None
    if try_lock(descriptor):
        return descriptor
    os.close(descriptor)
    return None
