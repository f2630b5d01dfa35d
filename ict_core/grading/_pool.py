"""Grading within limits: worker processes that are killed when an answer takes too long or too much memory."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Self

from ict_core.errors import UserError
from ict_core.grading._answers import SETTLED_LIMIT, Grader, Item, grade_answer, settle
from ict_core.grading._boxes import Verdict, last_box
from ict_core.grading._gold import ANSWER_TYPES
from ict_core.grading._worker import EXIT_MEMORY
from ict_core.store.records import STATUSES

_START_SECONDS = 120.0  # to import math-verify, on a machine that is busy
_COMMAND = "from ict_core.grading._worker import serve; serve({descriptor})"
_BATCH = 32  # items in one message to a worker
_ITEMS_PER_WORKER = 16  # a further worker is started for each so many items, as starting takes longer than grading
_LONGEST_MESSAGE = 2**14  # bytes of a worker's, whose answers are cut
_LIMITS = {
    EXIT_MEMORY: "memory",
    -signal.SIGALRM: "timeout",  # the worker's own alarm, while this process was stopped
}
_DEATHS = {-signal.SIGKILL: "memory"}  # not sent by the pool: the kernel's out-of-memory killer
_LOST_STARTS = 2  # workers in a call that may be killed while they start


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    deadline: float  # monotonic seconds; infinite while idle
    ready: bool = False
    assigned: deque[int] = field(default_factory=deque)  # the first is being graded


@dataclass
class _Job:
    """The state of one call, with items by their index."""

    items: list[Item]
    todo: deque[int]  # those that no worker has
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    again: set[int] = field(default_factory=set)  # whose worker died of something else than the limits
    lost_starts: int = 0


class GradingPool:
    """Grades texts in killable worker processes, which are started when a text first needs one, and then reused.

    What linear-time code can settle (no answer, the gold text itself, numbers, choices) is settled in this process, and
    equal answers to equal golds are graded once a call. Not safe to share between threads. Use as a context manager;
    workers also end when this process does, whatever ended it.

    Args:
        workers: the most processes at a time.
        seconds: wall-clock limit of one answer. Starting a worker does not count.
        memory_mib: address space that a worker may take beyond what it has when ready, in MiB.
        grade: what workers run for a text that is not settled in this process: a top-level function of a module that
            they can import, hence not of the main program.

    Raises:
        UserError: a limit that is not positive.
    """

    def __init__(self, *, workers: int, seconds: float, memory_mib: int, grade: Grader = grade_answer) -> None:
        for name, value in (("workers", workers), ("seconds", seconds), ("memory_mib", memory_mib)):
            if not 0 < value < math.inf:
                raise UserError(f"grading: {name} must be positive, not {value}")
        self._most, self._seconds, self._memory_mib, self._grade = workers, seconds, memory_mib, grade
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill every worker. The pool may be used again; it then starts new ones."""
        while self._workers:
            self._discard(self._workers[-1])

    def grade(self, items: Sequence[Item], watch: Callable[[int], object] = lambda graded: None) -> list[Verdict]:
        """Grade items; `watch` is called now and then, and at the end, with the number of those that are graded.

        Returns:
            one verdict an item, in the order of the items. An item that a worker did not survive has the status
            `timeout`, `memory` (it hit the limit, or the kernel killed the worker) or `error` (any other death). Where
            the worker died of anything but the limits, the item is first graded once more by another worker.

        Raises:
            UserError: an unknown answer type, or a worker that does not start.
        """
        for _, _, answer_type in items:
            if answer_type not in ANSWER_TYPES:
                raise UserError(f"grading: answer type {answer_type!r} is not one of {', '.join(ANSWER_TYPES)}")
        settled = [settle(item) for item in items]
        unsettled = list(dict.fromkeys(item for item in settled if not isinstance(item, Verdict)))
        ready = len(items) - len(unsettled)
        graded = dict(zip(unsettled, self._run(unsettled, lambda done: watch(ready + done)), strict=True))
        watch(len(items))
        return [item if isinstance(item, Verdict) else graded[item] for item in settled]

    def _run(self, items: list[Item], watch: Callable[[int], object]) -> list[Verdict]:
        job = _Job(items, deque(range(len(items))))
        try:
            while len(job.verdicts) < len(items):
                watch(len(job.verdicts))
                wanted = math.ceil((len(items) - len(job.verdicts)) / _ITEMS_PER_WORKER)
                while len(self._workers) < min(self._most, wanted):
                    self._workers.append(_start(self._grade, self._seconds, self._memory_mib))
                self._assign(job)
                self._collect(job)
        except BaseException:  # an interrupt included: what the workers still send belongs to no later call
            self.close()
            raise
        return [job.verdicts[i] for i in range(len(items))]

    def _assign(self, job: _Job) -> None:
        for worker in [worker for worker in self._workers if worker.ready and not worker.assigned]:
            share = math.ceil(len(job.todo) / (2 * len(self._workers)))
            batch = [job.todo.popleft() for _ in range(min(_BATCH, share))]
            if not batch:
                return
            try:
                worker.connection.send_bytes(json.dumps([job.items[i] for i in batch]).encode())
            except BrokenPipeError:  # it died while it had nothing to do
                job.todo.extendleft(reversed(batch))
                self._discard(worker)
            else:
                worker.assigned.extend(batch)
                worker.deadline = time.monotonic() + self._seconds

    def _collect(self, job: _Job) -> None:
        """Wait for a message, a death or a deadline, and take in every one that has come."""
        if not self._workers:
            return
        nearest = min(worker.deadline for worker in self._workers)
        timeout = None if nearest == math.inf else max(0.0, nearest - time.monotonic())
        heard = wait([worker.connection for worker in self._workers], timeout)
        for worker in list(self._workers):
            if worker.connection in heard:
                self._receive(worker, job)
            elif time.monotonic() >= worker.deadline:
                self._bury(worker, job, "timeout", None)

    def _receive(self, worker: _Worker, job: _Job) -> None:
        try:
            verdict = _read(worker.connection.recv_bytes(_LONGEST_MESSAGE))
            if (verdict is None) == worker.ready or (verdict is not None and not worker.assigned):
                raise ValueError("a worker reports once that it is ready, and one verdict an item")
        except (EOFError, ConnectionResetError):
            self._bury(worker, job, *_ending(worker.process))
            return
        except (OSError, ValueError, RecursionError):  # a message that is too long is an OSError
            self._bury(worker, job, "error", None)
            return
        if verdict is None:
            worker.ready = True
        else:
            job.verdicts[worker.assigned.popleft()] = verdict
        worker.deadline = time.monotonic() + self._seconds if worker.assigned else math.inf

    def _bury(self, worker: _Worker, job: _Job, status: str, died: int | None) -> None:
        """Give the item that a worker was at its status, the items after it back to the job, and the worker up.

        Where it died by itself, of no limit, the item goes back too, the first time.
        """
        self._discard(worker)
        if not worker.ready:
            if died is not None and died < 0 and job.lost_starts < _LOST_STARTS:
                job.lost_starts += 1
                _say(f"a worker {_how(died)} as it started; another one is started")
                return
            raise UserError(
                f"grading: a worker did not start ({status}, exit status {worker.process.returncode}); "
                "its error output stands above. Is math-verify installed for this Python?"
            )
        if worker.assigned:
            guilty = worker.assigned.popleft()
            job.todo.extendleft(reversed(worker.assigned))
            if died is None or guilty in job.again:
                text = job.items[guilty][0]
                box = last_box(text) if len(text) <= SETTLED_LIMIT else None
                job.verdicts[guilty] = Verdict.on(box.answer if box else "", status)
            else:
                job.again.add(guilty)
                job.todo.appendleft(guilty)
                _say(f"a worker {_how(died)}; the answer that it was at is graded once more")

    def _discard(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.process.kill()
        worker.process.wait()
        worker.connection.close()


def _start(grade: Grader, seconds: float, memory_mib: int) -> _Worker:
    """Start an interpreter that sees the modules this one sees. It runs no code of this process's main module."""
    ours, theirs = Pipe()
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}  # a thread takes address space
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _COMMAND.format(descriptor=theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    name = f"{grade.__module__}:{grade.__qualname__}"
    ours.send_bytes(json.dumps([name, seconds, memory_mib * 2**20]).encode())
    return _Worker(process, ours, deadline=time.monotonic() + _START_SECONDS)


def _read(message: bytes) -> Verdict | None:
    """A worker's message: None when it is ready, then verdicts. It has read untrusted text, so it is not believed."""
    match json.loads(message):
        case None:
            return None
        case [str(status), str(extracted)] if status in STATUSES:
            return Verdict(status, extracted)
    raise ValueError("no verdict")


def _ending(process: subprocess.Popen[bytes]) -> tuple[str, int | None]:
    """The status that the way a worker ended gives the item it was at, and its exit status if that was of no limit."""
    try:
        ended = process.wait(timeout=5)
    except subprocess.TimeoutExpired:  # it closed its connection and lives on
        return "error", 0
    return (_LIMITS[ended], None) if ended in _LIMITS else (_DEATHS.get(ended, "error"), ended)


def _how(ended: int) -> str:
    return f"was killed by {signal.Signals(-ended).name}" if ended < 0 else f"ended with status {ended}"


def _say(what: str) -> None:
    print(f"grading: {what}", file=sys.stderr, flush=True)
