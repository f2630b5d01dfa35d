r"""The type of a verdict, and the place of the answer in a text: the last balanced ``\boxed`` or ``\fbox``."""

import re
from collections import deque
from typing import NamedTuple

EXTRACTED_LIMIT = 200  # characters of an answer that are stored with its verdict
FONTS = "text|textbf|textit|textrm|textnormal|mathrm|mathbf|mathit|mbox|bf"  # commands that only format, as a pattern


class Verdict(NamedTuple):
    """The result of grading one text."""

    status: str  # one of `records.STATUSES`
    extracted: str = ""  # the answer that was found, at most EXTRACTED_LIMIT characters; "" if nothing

    @classmethod
    def on(cls, answer: str, status: str) -> "Verdict":
        """A verdict on an answer, which is cut to the stored length."""
        return cls(status, answer[:EXTRACTED_LIMIT])


class Box(NamedTuple):
    """One box of a text."""

    markup: str  # the box verbatim; graded alone it gives the verdict of its text
    answer: str  # its content, `stripped`; may be empty


# A backslash pair is a line break, so the brace after it groups; but "\\boxed" is a box with a doubled backslash.
_BOX = re.compile(r"\\(?:boxed|fbox)")
_TOKEN = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])|\\\\(?!boxed|fbox)|\\[{}]|[{}]")
_BRACE = re.compile(r"\s*\{")
SPACE_BACKWARDS = r"\s\\(?=(?:\\\\)*(?!\\))|\s"  # a control space or a whitespace character, read from its end
_ENDING = re.compile(rf"(?:{SPACE_BACKWARDS})*")
_BARE = re.compile(r"\s*(-?[0-9]+(?:[.,/][0-9]+)*|[A-Z](?![A-Za-z]))")


def last_box(text: str) -> Box | None:
    r"""The box that begins last among the complete ones, or None.

    A box is ``\boxed{...}`` or ``\fbox{...}`` whose braces balance (``\{`` and ``\}`` do not count), or ``\boxed``
    before a number or a single capital letter, as in ``\boxed 2``. A box that never closes, as in a truncated text, is
    skipped, and a box inside another begins later than it. Time and memory are linear in the text's length.
    """
    best: tuple[int, int, int, int] | None = None  # begins of markup and answer, ends of answer and markup
    groups: list[tuple[int, int] | None] = []  # open groups within a box: begins of markup and answer; None: plain
    first = _BOX.search(text)
    position = first.start() if first else len(text)
    while token := _TOKEN.search(text, position):
        position = token.end()
        if _BOX.match(token[0]):
            if brace := _BRACE.match(text, position):
                position = brace.end()
                groups.append((token.start(), position))
            elif bare := _BARE.match(text, position):
                position = bare.end()
                best = (token.start(), bare.start(1), bare.end(1), position)
        elif token[0] == "{" and groups:
            groups.append(None)
        elif token[0] == "}" and groups:
            begun = groups.pop()
            if begun and (best is None or begun[0] > best[0]):
                best = (*begun, token.start(), position)
    if best is None:
        return None
    return Box(text[best[0] : best[3]], stripped(text[best[1] : best[2]]))


def stripped(content: str) -> str:
    r"""A text without the whitespace around it and the control spaces (``\ ``) at its end. Linear time."""
    return _ENDING.sub("", content[::-1], count=1)[::-1].lstrip()


def last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The last of the non-overlapping matches, searched from the left; None if there is none."""
    return next(iter(deque(pattern.finditer(text), maxlen=1)), None)
