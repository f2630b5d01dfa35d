"""A worker process that grades items under a memory limit until its parent is gone or it is killed.

It is an interpreter of its own (not forked, and without the parent's main module), so it holds nothing that the parent
has loaded, such as torch or a GPU's memory.
"""

import importlib
import json
import os
import resource
import signal
from multiprocessing.connection import Connection
from pathlib import Path

from ict_core.grading.answers import Grader, Item
from ict_core.grading.boxes import Verdict
from ict_core.grading.math import load_math_verify

EXIT_MEMORY = 77  # status of a worker that ran out of memory on its current item
_GRACE_SECONDS = 2.0  # how long past an item's limit an abandoned worker lives
_IDLE_SECONDS = 5.0  # between two checks that the parent is there


def _address_space(field: str) -> int:
    """Bytes of address space of this process: ``VmSize`` (now) or ``VmPeak`` (the most so far)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def _judge(grade: Grader, item: Item, memory: int) -> Verdict:
    """Grade one item, or end the process if memory runs out.

    A symbolic library may swallow a MemoryError and answer "not equal". A high peak is the only trace of it. So a
    `wrong` that took more than a quarter of the limit (an allocation that fails is mostly a doubling) is not believed.
    """
    size, peak = _address_space("VmSize"), _address_space("VmPeak")
    try:
        verdict = grade(*item)
        reached = _address_space("VmPeak")
    except MemoryError:
        os._exit(EXIT_MEMORY)
    if verdict.status == "wrong" and reached > peak and reached - size > memory // 4:
        os._exit(EXIT_MEMORY)
    return verdict


def _next_item(connection: Connection, parent: int) -> Item | None:
    """The next item, or None once the parent is gone (another process may hold its end of the connection)."""
    while not connection.poll(_IDLE_SECONDS):
        if os.getppid() != parent:
            return None
    try:
        text, gold, answer_type = json.loads(connection.recv_bytes())
    except (EOFError, ConnectionResetError):
        return None
    return text, gold, answer_type


def serve(descriptor: int) -> None:
    """Grade items from a connection, one at a time; the first message to the parent is null: ready.

    Messages are JSON: even if a text takes over its worker, the parent executes nothing that the worker sends.

    If an item runs `_GRACE_SECONDS` past its limit, the parent is not there to kill this process, so the kernel does
    (the alarm's default action needs no cooperation from the running code).
    """
    parent = os.getppid()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt of the terminal means
    connection = Connection(descriptor)
    name, seconds, memory = json.loads(connection.recv_bytes())
    module, _, function = name.partition(":")
    grade: Grader = getattr(importlib.import_module(module), function)
    load_math_verify()
    limit, (_, hard) = _address_space("VmSize") + memory, resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection.send_bytes(b"null")
    while (item := _next_item(connection, parent)) is not None:
        signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE_SECONDS)
        verdict = _judge(grade, item, memory)
        signal.setitimer(signal.ITIMER_REAL, 0)
        connection.send_bytes(json.dumps(verdict).encode())
