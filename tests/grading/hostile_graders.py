"""Graders for the pool's tests; a worker imports this module by name."""

import os
import signal
import stat
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

from ict_core.grading.boxes import Verdict, last_box


def _send(message):
    """Send the parent a message of our own, as code that a text has taken over could."""
    for name in Path("/proc/self/fd").iterdir():
        if name.exists() and stat.S_ISSOCK(name.stat().st_mode):
            Connection(os.dup(int(name.name))).send_bytes(message)


def obey(text, gold, answer_type):
    """Do what the box says; a box that says nothing known is correct."""
    box = last_box(text)
    word = box.answer if box else ""
    match word.split():
        case ["sleep", *_]:
            time.sleep(600)
        case ["spin", *_]:  # one operation of the interpreter, which never lets another thread run
            print(os.getpid(), flush=True)
            pow(3, 10**9)
        case ["exit", *_]:
            os._exit(3)
        case ["segfault", *_]:
            os.kill(os.getpid(), signal.SIGSEGV)
        case ["killed", *_]:
            os.kill(os.getpid(), signal.SIGKILL)
        case ["killed-once", file]:
            if not Path(file).exists():
                Path(file).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        case ["close", *_]:  # its connection, and live on without the alarm
            signal.setitimer(signal.ITIMER_REAL, 0)
            os.closerange(3, 1000)
            time.sleep(600)
        case ["raise", *_]:
            sys.stderr = None  # the traceback is no news
            raise ValueError
        case ["hoard", *_]:
            bytearray(10 * 2**30)
        case ["swallow", *_]:
            hoard = []
            try:
                while True:
                    hoard.append(bytearray(2**24))
            except MemoryError:
                return Verdict.on(word, "wrong")
        case ["pickle", file]:
            _send(b"cos\nsystem\n(S'touch " + file.encode() + b"'\ntR.")
        case ["forge", *message]:
            _send(" ".join(message).encode() * (2**20 if message == ["["] else 1))
        case ["pid", *_]:
            return Verdict.on(str(os.getpid()), "correct")
    return Verdict.on(word, "correct")
