"""How far a job is: a bar on a terminal, a line now and then in a log, from which `ict status` reads it."""

import os
import re
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

_SECONDS = 10.0  # between two lines
_LINE = re.compile(
    r"([a-z]+) (\d+) of (\d+)((?:, [a-z]+ (?:-?[\d.]+(?:e[+-]\d+)?|-?inf|nan))*)(?:, (\d+ (?:s|min|h)) left)?"
)


class Reading(NamedTuple):
    """What a line of progress says."""

    unit: str  # what is counted: step, completion, answer
    done: int
    total: int
    values: Mapping[str, float]  # by name, such as the reward of the last step
    left: str = ""  # how long the rest takes at the present rate; empty where that is unknown


def line(reading: Reading) -> str:
    """A reading in words: ``step 12 of 60, reward 0.43, 8 s left``."""
    values = [f"{name} {value:.3g}" for name, value in reading.values.items()]
    left = [f"{reading.left} left"] if reading.left else []
    return ", ".join([f"{reading.unit} {reading.done} of {reading.total}", *values, *left])


def read(text: str) -> Reading | None:
    """What :func:`line` made a line of; None of any other text."""
    match = _LINE.fullmatch(text)
    if match is None:
        return None
    unit, done, total, values, left = match.groups()
    pairs = (pair.split(" ") for pair in values.split(", ")[1:])
    return Reading(unit, int(done), int(total), {name: float(value) for name, value in pairs}, left or "")


def duration(seconds: float) -> str:
    """A time in the unit that gives it two or three digits: ``8 s``, ``95 min``, ``30 h``."""
    for unit, length in (("s", 1), ("min", 60)):
        if round(seconds / length) < 100:
            return f"{round(seconds / length)} {unit}"
    return f"{round(seconds / 3600)} h"


class Progress:
    """Shows on standard error how far something is: at once, every ten seconds or so, and when it is done.

    On a terminal it is a bar (tqdm), elsewhere whole lines without control characters.

    Args:
        unit: what is counted, a word.
        total: of these.
        done: of these at the start, for the bar.
    """

    def __init__(self, unit: str, total: int, done: int = 0) -> None:
        self._unit, self._total = unit, total
        self._shown: tuple[float, int] | None = None  # when the last line was, and how many were done
        self._bar: Any = None
        if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
            from tqdm import tqdm

            self._bar = tqdm(total=total, initial=done, unit=f" {unit}s", dynamic_ncols=True)

    def update(self, done: int, **values: float) -> None:
        """Tell how many are done now, and what else is to be shown."""
        if self._bar is not None:
            self._bar.set_postfix({name: f"{value:.3g}" for name, value in values.items()}, refresh=False)
            self._bar.update(done - self._bar.n)
            if done >= self._total:
                self._bar.close()
            return
        now = time.monotonic()
        if self._shown is not None and now < self._shown[0] + _SECONDS and done < self._total:
            return
        reading = Reading(self._unit, done, self._total, values, self._left(now, done))
        print(line(reading), file=sys.stderr, flush=True)
        self._shown = now, done

    def _left(self, now: float, done: int) -> str:
        """By the rate since the last line; unknown at the first, before which something may have been loaded."""
        if self._shown is None or done >= self._total or done <= self._shown[1]:
            return ""
        then, before = self._shown
        return duration((self._total - done) * (now - then) / (done - before))
