"""A command as a child of this process: it ends with it, its end is explained, and a transient one is tried again.

A job may be tried again because it goes on where it was: completions are kept in the cache, checkpoints beside the
output. What is known to come back (bad input, an exception) is never tried again.
"""

import ctypes
import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ict_core.process._forkserver import FOLDER, Forked, fork

ATTEMPTS = "ICT_ATTEMPTS"
"""Environment variable of the child: how its earlier attempts ended, a JSON list of signals' names and statuses."""

RETRIES = 2
PAUSES = (5.0, 20.0)
"""Seconds before a further attempt, the last for all that follow."""

_ENDING = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}  # who sends these wants no further attempt
_PASSED = _ENDING | {signal.SIGUSR1, signal.SIGUSR2}
_WAKING = {signal.SIGCHLD, signal.SIGIO}  # of a child's end, and of a forked one's
_LOOK = 1.0  # seconds between two looks at the child; mostly its end wakes this process
_SI_KERNEL = 0x80  # sent by the terminal, to the whole process group
_PR_SET_PDEATHSIG = 1
_MEMORY = (
    "most likely the kernel's out-of-memory killer; give the job more memory (hardware.memory_gib of the model's file, "
    "Snakemake's mem_mb), or let fewer jobs run at a time (--cores)"
)
_CRASH = "a fault of a library or of the machine, not of the configuration"
_CAUSES = {  # of a death that nobody asked for
    signal.SIGKILL: _MEMORY,
    signal.SIGBUS: f"a full disk or /dev/shm under a mapped file, or {_CRASH}",
    **dict.fromkeys((signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL), _CRASH),
}


class End(NamedTuple):
    """How a child ended."""

    status: int  # its exit status, or minus the signal that killed it
    peak_mib: float  # the most memory that it held, in MiB; of its children's, those that it waited for
    asked: bool  # whether this process was told to end meanwhile

    @property
    def name(self) -> str | int:
        """The signal's name, or the exit status."""
        return signal.Signals(-self.status).name if self.status < 0 else self.status

    @property
    def transient(self) -> bool:
        """Whether a further attempt may end otherwise."""
        return not self.asked and (self.status == os.EX_TEMPFAIL or -self.status in _CAUSES)


def supervise(command: Sequence[str], retries: int = RETRIES, pauses: Sequence[float] = PAUSES) -> int:
    """Run a command to its end, with so many further attempts where it dies or returns 75 (EX_TEMPFAIL).

    SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are handed on. The child is killed when this process dies.

    Returns:
        the exit status of the last attempt, 128 + n where signal n killed it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED | _WAKING)
    ends: list[End] = []
    try:
        while True:
            end = _attempt(command, json.dumps([e.name for e in ends]), before)
            ends.append(end)
            again = end.transient and len(ends) <= retries
            pause = pauses[min(len(ends), len(pauses)) - 1]
            if end.transient or end.status < 0:
                _tell(command, end, f"attempt {len(ends) + 1} of {retries + 1} in {pause:g} s" if again else "")
            if not again:
                return end.status if end.status >= 0 else 128 - end.status
            told = signal.sigtimedwait(_ENDING, pause)
            if told is not None:
                return 128 + told.si_signo
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Have the kernel kill this process when the one that started it is gone: a rank whose launcher was killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def forked(command: Sequence[str]) -> int | None:
    """Have a server that has a command's imports run it (:mod:`ict_core.process._forkserver`).

    Returns:
        the command's exit status, 128 + n where signal n killed it; None where it has to start by itself.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED | _WAKING)
    try:
        job = fork(command, os.environ)
        if job is None:
            return None
        end = _until_its_end(job)
        return end.status if end.status >= 0 else 128 - end.status
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _attempt(command: Sequence[str], earlier: str, mask: set[int]) -> End:
    environment = {**os.environ, ATTEMPTS: earlier}
    return _until_its_end(fork(command, environment) or _Started(command, environment, mask))


def _until_its_end(job: "Forked | _Started") -> End:
    asked = False
    while True:
        told = signal.sigtimedwait(_PASSED | _WAKING, _LOOK)
        if told is not None and told.si_signo in _PASSED:
            asked |= told.si_signo in _ENDING
            if told.si_code != _SI_KERNEL or isinstance(job, Forked):  # which is not of the terminal's group
                job.signal(told.si_signo)
        if (ended := job.end()) is not None:
            return End(*ended, asked)


class _Started:
    """A command as a child of this process; see :class:`ict_core.process._forkserver.Forked`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], mask: set[int]) -> None:
        self._process = subprocess.Popen(
            command,
            close_fds=False,  # leases are inherited
            env={name: value for name, value in environment.items() if name != FOLDER},  # no server has it
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
    if os.getppid() != parent:  # it died before
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _tell(command: Sequence[str], end: End, then: str) -> None:
    if end.status == os.EX_TEMPFAIL:
        how = "ended by an error that may pass"
    elif end.asked or -end.status not in _CAUSES:
        how = f"was ended by {end.name}"
    else:
        how = f"was killed by {end.name} ({_CAUSES[signal.Signals(-end.status)]}; peak memory {end.peak_mib:.0f} MiB)"
    print(f"{' '.join(command[:2])} {how}{'; ' if then else ''}{then}", file=sys.stderr, flush=True)
