"""A server process that has imported what a stage needs, and forks itself for every job of the stage.

Half of a small job is the import of torch, TRL or vLLM. The server imports them once. A job that it forks runs the
plain command in the client's place, with the client's arguments, folder, environment and standard streams. In all else
it is as it would be alone: it logs, locks, ends and is killed in the same way, and its client passes signals on and
learns how it ended. Jobs on a GPU are never forked, as CUDA cannot be forked. Nor are jobs of several threads, as
libraries start these when they are imported. If there is no server and none can be started, a job starts by itself.
"""

import contextlib
import fcntl
import gc
import hashlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ict_core.process.lifeline import begin, outlive_run

MASK = "CUDA_VISIBLE_DEVICES"
FOLDER = "ICT_FORKSERVERS"
"""Environment variable: the folder of the servers' sockets. If it is unset or empty, a job starts by itself."""

_EVIDENCE = ("statistics", "tables", "figure", "claims", "report")
KINDS = {name: name for name in ("pretrain", "train", "generate", "grade")} | dict.fromkeys(_EVIDENCE, "evidence")
"""The subcommands of `ict` that are forked, each with the kind of its server; those of one kind share their imports."""

_OF_THE_JOB = ("OLDPWD", "PWD", "SHLVL", "_")  # variables in which the jobs of one server may differ
_IDLE = 600.0  # seconds without a job after which a server ends: longer than most jobs of other kinds take
_LOOK = 1.0  # seconds between two checks that the socket is still there
_START = 60.0  # seconds that a server may take until it listens
_SURVIVING = {"jemalloc_bg_thd"}  # a thread of Arrow's allocator, which starts it anew in a forked process
_LONGEST = 2**20  # bytes of the longest message


def begin_run(*beside: Path) -> None:
    """Let servers fork the jobs that this process starts; these, their temporary files and `beside` end with it.

    A value of :data:`FOLDER` that is set already stays in force, also an empty one.
    """
    os.environ.setdefault(FOLDER, str(begin(*beside)))


@dataclass
class Forked:
    """A job that a server has forked; SIGIO wakes this process when the server reports its end."""

    pid: int
    _connection: socket.socket

    def signal(self, number: int) -> None:
        """Pass a signal on; no effect if the job has ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def end(self) -> tuple[int, float] | None:
        """Its exit status (or minus the signal that killed it) and its peak memory in MiB; None while it runs."""
        try:
            message = _receive(self._connection, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        if message is None:  # the server was killed, and the kernel has killed its jobs
            return -signal.SIGKILL, 0.0
        return message["status"], message["peak_mib"]


def fork(command: Sequence[str], environment: Mapping[str, str]) -> Forked | None:
    """Have a server run a command (``ict``, one of :data:`KINDS`, options); None if it has to start by itself."""
    folder = environment.get(FOLDER)
    if not folder or Path(command[0]).name != "ict" or len(command) < 2 or command[1] not in KINDS:
        return None
    if environment.get(MASK) or environment.get("OMP_NUM_THREADS") != "1":  # Snakemake sets it
        return None
    study = command[command.index("--study") + 1] if "--study" in command else None
    of_job = {name: environment[name] for name in _OF_THE_JOB if name in environment}
    shared = {name: value for name, value in environment.items() if name not in _OF_THE_JOB}
    try:
        connection = _connect(Path(folder), KINDS[command[1]], study, shared)
        if connection is None:
            return None
        request = {"arguments": list(command), "folder": str(Path.cwd()), "environment": of_job}
        _send(connection, request, descriptors=(0, 1, 2))
        reply = _receive(connection)
    except OSError:
        return None
    if reply is None:  # the server could not import what the job needs: a job by itself says why
        return None
    signal.signal(signal.SIGIO, lambda *_: None)  # a SIGIO that nobody waits for would end this process
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    return Forked(reply["pid"], connection)


def _connect(folder: Path, kind: str, study: str | None, environment: dict[str, str]) -> socket.socket | None:
    """A connection to the server of a kind, which is started if there is none; None if it does not start."""
    address = folder / _key(kind, study, environment)
    with address.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (connection := _try(address)) is not None:
            return connection
        address.unlink(missing_ok=True)  # left by a server that has ended
        command = [sys.executable, "-P", "-m", "ict_core", "forkserver", "--kind", kind, "--address", str(address)]
        with address.with_suffix(".out").open("ab") as output:
            server = subprocess.Popen(
                [*command, *(["--study", study] if study else [])],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=environment,
            )
        deadline = time.monotonic() + _START
        while time.monotonic() < deadline and server.poll() is None:
            if (connection := _try(address)) is not None:
                return connection
            time.sleep(0.05)
    return None


def _key(kind: str, study: str | None, environment: dict[str, str]) -> str:
    """The name of a kind's server, a hash of what it is started with: study, library, folder, environment."""
    inputs = [kind, study, sys.executable, str(Path.cwd()), environment]
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode())
    if study:
        digest.update(Path(study).read_bytes())
    library = Path(__file__).parents[1]
    for file in sorted(library.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _try(address: Path) -> socket.socket | None:
    connection = _socket()
    try:
        connection.connect(str(address))
    except OSError:
        connection.close()
        return None
    return connection


def serve(address: Path, preload: Callable[[], None], run: Callable[[list[str]], int]) -> None:
    """Import by ``preload``, then fork a process for every request, until none has come for ten minutes.

    ``run`` takes a job's arguments without the command's name, runs the job and returns its exit status. RuntimeError:
    ``preload`` has started a thread, which a forked process would lack.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the client that started it had blocked some
    listening = _socket()
    listening.bind(str(address))
    listening.listen(128)
    preload()
    gc.collect()
    gc.freeze()  # the jobs share these pages: their collectors neither scan nor copy them
    threads = sorted((task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir())
    threads.remove(Path("/proc/self/comm").read_text().strip())
    if set(threads) - _SURVIVING:
        raise RuntimeError(f"beside this thread run {', '.join(threads)}, and a forked process would lack them")
    outlive_run()  # until its jobs have ended, each of which gets its own SIGTERM
    _Server(listening, address, run).loop()


class _Server:
    """The loop of a server, with the client that waits for each of its jobs."""

    def __init__(self, listening: socket.socket, address: Path, run: Callable[[list[str]], int]) -> None:
        self._listening, self._address, self._run = listening, address, run
        self._jobs: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._wakes, self._woken = socket.socketpair()

    def loop(self) -> None:
        self._woken.setblocking(False)
        self._wakes.setblocking(False)
        signal.set_wakeup_fd(self._woken.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._selector.register(self._wakes, selectors.EVENT_READ)
        quiet_since = time.monotonic()
        while self._jobs or (self._address.exists() and time.monotonic() - quiet_since < _IDLE):
            for key, _ in self._selector.select(_LOOK):
                if key.fileobj is self._listening:
                    self._accept()
                elif key.fileobj is self._wakes:
                    self._wakes.recv(4096)
                else:  # the client has died, and its job dies with it
                    os.kill(key.data, signal.SIGKILL)
                    self._selector.unregister(key.fileobj)
            self._reap()
            if self._jobs:
                quiet_since = time.monotonic()

    def _accept(self) -> None:
        client, _ = self._listening.accept()
        client.settimeout(_LOOK)  # one that has been stopped holds up no other
        try:
            data, descriptors, *_ = socket.recv_fds(client, _LONGEST, 3)
        except TimeoutError:
            data = b""
        if not data:  # it has died, or does not ask: then its job starts by itself
            client.close()
            return
        sys.stdout.flush()
        sys.stderr.flush()
        read_end, write_end = os.pipe()
        try:
            pid = os.fork()
        except OSError:  # no process or no memory is left: the client starts its job by itself
            for descriptor in (read_end, write_end, client.detach(), *descriptors):
                os.close(descriptor)
            return
        if pid == 0:
            os.close(write_end)
            if not os.read(read_end, 1):  # the server died before its client had the job's id
                os._exit(1)
            os.close(read_end)
            self._become(client, json.loads(data), descriptors)
        for descriptor in (read_end, *descriptors):
            os.close(descriptor)
        self._jobs[pid] = client
        self._selector.register(client, selectors.EVENT_READ, pid)
        with contextlib.suppress(OSError):
            _send(client, {"pid": pid})
            os.write(write_end, b"1")  # an error if the job is gone already
        os.close(write_end)

    def _reap(self) -> None:
        while self._jobs:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if not pid:
                return
            client = self._jobs.pop(pid)
            with contextlib.suppress(KeyError):
                self._selector.unregister(client)
            with contextlib.suppress(OSError):
                message = {"status": os.waitstatus_to_exitcode(status), "peak_mib": usage.ru_maxrss / 1024}
                _send(client, message)
            client.close()

    def _become(self, client: socket.socket, request: dict[str, Any], descriptors: Sequence[int]) -> NoReturn:
        """Run a job in the forked process, and end."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._selector.close()
            for connection in (client, self._listening, self._wakes, self._woken, *self._jobs.values()):
                connection.close()
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            os.chdir(request["folder"])
            os.environ.update(request["environment"])
            sys.argv = request["arguments"]
            status = self._run(request["arguments"][1:])
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # this type keeps messages whole


def _send(connection: socket.socket, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
    socket.send_fds(connection, [json.dumps(message).encode()], list(descriptors))


def _receive(connection: socket.socket, flags: int = 0) -> dict[str, Any] | None:
    """A message; None if the other side has gone."""
    data = connection.recv(_LONGEST, flags)
    return json.loads(data) if data else None
