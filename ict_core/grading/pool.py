"""Grading within limits: worker processes that are killed when an answer takes too long or too much memory."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import wait
from pathlib import Path
from typing import Self

from ict_core.errors import UserError
from ict_core.grading._worker import EXIT_MEMORY
from ict_core.grading.answers import SETTLED_LIMIT, Grader, Item, grade_answer, settle
from ict_core.grading.boxes import Verdict, last_box
from ict_core.grading.gold import ANSWER_TYPES
from ict_core.store.records import STATUSES

_START_SECONDS = 120.0  # to import math-verify, on a machine that is busy
_COMMAND = "from ict_core.grading._worker import serve; serve({descriptor})"
_ITEMS_PER_WORKER = 16  # items for each further worker, as starting one takes longer than grading
_LONGEST_MESSAGE = 2**14  # bytes of a worker's message, in which answers are cut
_LIMITS = {
    EXIT_MEMORY: "memory",
    -signal.SIGALRM: "timeout",  # the worker's own alarm, while this process was stopped
}
_DEATHS = {-signal.SIGKILL: "memory"}  # not sent by the pool: the kernel's out-of-memory killer
_LOST_STARTS = 2  # workers in a call that may be killed while they start


class _Lost(Exception):
    """A worker is of no more use: the status for its item, and how the process ended if a limit did not end it."""

    def __init__(self, status: str, ended: int | None = None) -> None:
        self.status, self.ended = status, ended


class _Worker:
    """An interpreter with the module path of this one. It runs no code of this process's main module."""

    def __init__(self, grade: Grader, seconds: float, memory_mib: int) -> None:
        self.connection, worker_end = Pipe()
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}  # a thread takes address space
        with worker_end:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _COMMAND.format(descriptor=worker_end.fileno())],
                pass_fds=[worker_end.fileno()],
                stdin=subprocess.DEVNULL,
                env=environment,
            )
        name = f"{grade.__module__}:{grade.__qualname__}"
        self.connection.send_bytes(json.dumps([name, seconds, memory_mib * 2**20]).encode())
        self.deadline = time.monotonic() + _START_SECONDS  # monotonic seconds; infinite while idle
        self.ready = False
        self.item: Item | None = None  # what it is grading

    def ask(self, item: Item, seconds: float) -> bool:
        """Give it an item to grade; False if it died while it was idle, as `hear` will find."""
        try:
            self.connection.send_bytes(json.dumps(item).encode())
        except ConnectionError:
            return False
        self.item, self.deadline = item, time.monotonic() + seconds
        return True

    def hear(self) -> Verdict | None:
        """The worker's message: None when it is ready, then verdicts. It has read untrusted text, so it is checked."""
        try:
            message = json.loads(self.connection.recv_bytes(_LONGEST_MESSAGE))
        except (EOFError, ConnectionResetError):
            raise self._ending() from None
        except (OSError, ValueError, RecursionError):  # a message that is too long is an OSError
            raise _Lost("error") from None
        self.deadline = math.inf
        match message:
            case None if not self.ready:
                self.ready = True
                return None
            case [str(status), str(extracted)] if status in STATUSES and self.item:
                self.item = None
                return Verdict(status, extracted)
        raise _Lost("error")

    def _ending(self) -> _Lost:
        try:
            ended = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # it closed its connection and lives on
            return _Lost("error", 0)
        return _Lost(_LIMITS[ended]) if ended in _LIMITS else _Lost(_DEATHS.get(ended, "error"), ended)

    def kill(self) -> None:
        """Kill the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        self.connection.close()


class GradingPool:
    """Grades texts in killable worker processes, which are started when a text first needs one, and then reused.

    What linear-time code can settle (no answer, the gold text itself, numbers, choices) is settled in this process, and
    equal answers to equal gold answers are graded once per call. Not safe to share between threads. Use as a context
    manager; workers also end when this process does, whatever ended it.

    Args:
        workers: the largest number of processes at a time.
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
            self._workers.pop().kill()

    def grade(self, items: Sequence[Item], watch: Callable[[int], object] = lambda graded: None) -> list[Verdict]:
        """Grade items; `watch` is called now and then, and at the end, with the number of graded items.

        Returns:
            one verdict per item, in the order of the items. An item that a worker did not survive has the status
            `timeout`, `memory` (it hit the limit, or the kernel killed the worker) or `error` (any other death). If the
            worker died of anything but the limits, the item is first graded once more by another worker.

        Raises:
            UserError: an unknown answer type, or a worker that does not start.
        """
        for _, _, answer_type in items:
            if answer_type not in ANSWER_TYPES:
                raise UserError(f"grading: answer type {answer_type!r} is not one of {', '.join(ANSWER_TYPES)}")
        settled = [settle(item) for item in items]
        unsettled = list(dict.fromkeys(item for item in settled if not isinstance(item, Verdict)))
        ready = len(items) - len(unsettled)
        try:
            graded = self._run(unsettled, lambda done: watch(ready + done))
        except BaseException:  # an interrupt included: what the workers still send belongs to no later call
            self.close()
            raise
        watch(len(items))
        return [item if isinstance(item, Verdict) else graded[item] for item in settled]

    def _run(self, items: list[Item], watch: Callable[[int], object]) -> dict[Item, Verdict]:
        todo, verdicts, deaths = deque(items), dict[Item, Verdict](), Counter[tuple[Item | None, bool]]()
        while len(verdicts) < len(items):
            watch(len(verdicts))
            needed = math.ceil((len(items) - len(verdicts)) / _ITEMS_PER_WORKER)
            while len(self._workers) < min(self._most, needed):
                self._workers.append(_Worker(self._grade, self._seconds, self._memory_mib))
            for worker in self._workers:
                if worker.ready and not worker.item and todo and worker.ask(todo[0], self._seconds):
                    todo.popleft()
            nearest = min(worker.deadline for worker in self._workers) - time.monotonic()
            heard = wait([worker.connection for worker in self._workers], None if nearest == math.inf else nearest)
            for worker in list(self._workers):
                item = worker.item
                try:
                    if worker.connection in heard:
                        verdict = worker.hear()
                    elif time.monotonic() >= worker.deadline:
                        raise _Lost("timeout")
                    else:
                        continue
                except _Lost as lost:
                    self._workers.remove(worker)
                    worker.kill()
                    deaths[item, worker.ready] += 1  # one that is idle does not count with one that starts
                    verdict = _after(lost, worker, deaths[item, worker.ready])
                    if item and not verdict:
                        todo.appendleft(item)
                if item and verdict:
                    verdicts[item] = verdict
        return verdicts


def _after(lost: _Lost, worker: _Worker, deaths: int) -> Verdict | None:
    """The verdict on the item of a lost worker; None if it had none, or if another worker has to grade it.

    `deaths`: the number of workers that were lost in this call with that item, or while they started.
    """
    how = ""
    if lost.ended is not None:
        by_signal = lost.ended < 0
        how = f"was killed by {signal.Signals(-lost.ended).name}" if by_signal else f"ended with status {lost.ended}"
    if not worker.ready:
        if lost.ended is None or lost.ended >= 0 or deaths > _LOST_STARTS:
            raise UserError(
                f"grading: a worker did not start ({lost.status}, exit status {worker.process.returncode}); "
                "its error output stands above. Is math-verify installed for this Python?"
            )
        _say(f"a worker {how} as it started; another one is started")
        return None
    if worker.item is None:
        return None
    if how and deaths == 1:
        _say(f"a worker {how}; the answer that it was at is graded once more")
        return None
    text = worker.item[0]
    box = last_box(text) if len(text) <= SETTLED_LIMIT else None
    return Verdict.on(box.answer if box else "", lost.status)


def _say(what: str) -> None:
    print(f"grading: {what}", file=sys.stderr, flush=True)
