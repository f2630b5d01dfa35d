"""Graders for the pool's tests; a worker imports this module by name."""

import os
import signal
import sys
import time

from ict_core.grading.boxes import Verdict, last_box


def obey(text, gold, answer_type):
    """Do what the box says; a box that says nothing known is correct."""
    box = last_box(text)
    word = box.answer if box else ""
    match word.split()[:1]:
        case ["sleep"]:
            time.sleep(600)
        case ["spin"]:  # one operation of the interpreter, which never lets another thread run
            print(os.getpid(), flush=True)
            pow(3, 10**9)
        case ["exit"]:
            os._exit(3)
        case ["segfault"]:
            os.kill(os.getpid(), signal.SIGSEGV)
        case ["killed"]:
            os.kill(os.getpid(), signal.SIGKILL)
        case ["raise"]:
            sys.stderr = None  # the traceback is no news
            raise ValueError
        case ["hoard"]:
            bytearray(10 * 2**30)
        case ["swallow"]:
            hoard = []
            try:
                while True:
                    hoard.append(bytearray(2**24))
            except MemoryError:
                return Verdict.on(word, "wrong")
        case ["pid"]:
            return Verdict.on(str(os.getpid()), "correct")
    return Verdict.on(word, "correct")


def always_correct(text, gold, answer_type):
    return Verdict("correct")


def always_wrong(text, gold, answer_type):
    return Verdict("wrong")


def always_fails(text, gold, answer_type):
    return Verdict("error")
