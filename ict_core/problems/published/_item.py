r"""What every reader makes of a row: a problem with its gold answer, under an id that does not depend on row order.

A reader takes a row apart by :func:`text` and :func:`label`, and normalises the gold answer by :func:`integer`,
:func:`number` or :func:`boxed`; all raise a ValueError where a value is not as it must be.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ict_core.grading import last_box, refusal

_INTEGER = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"-?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?")


class Item(NamedTuple):
    """One problem of a published set.

    Attributes:
        id: the publisher's own where there is one, else made from the content.
        question: without surrounding whitespace.
        answer: the gold answer, normalised; a letter where there are choices.
        choices: the four options in the order of their letters, or None.
    """

    id: str
    question: str
    answer: str
    choices: tuple[str, ...] | None = None


Row = Mapping[str, Any]
Read = Callable[[Row], Item | None]
"""A reader. None: the row belongs to no problem of the set. ValueError: the row is not as published; the message holds
nothing of the question, as some sets may not be shown."""


def text(row: Row, column: str) -> str:
    """A column's text without surrounding whitespace, which may not be empty."""
    if column not in row:
        raise ValueError(f"there is no column {column!r}; allowed: a file whose `columns` name it")
    value = row[column]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"column {column!r} holds no text")
    return value.strip()


def label(row: Row, column: str) -> str:
    """A column's number or text, as text."""
    value = row.get(column)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text(row, column)


def integer(written: object) -> str:
    """An AIME answer, 0 to 999, without padding: ``"051"`` and 51 are ``"51"``."""
    shown = str(written).strip() if isinstance(written, str | int) and not isinstance(written, bool) else ""
    plain = str(int(shown)) if _INTEGER.fullmatch(shown) else ""
    if refusal(plain, "integer"):
        raise ValueError(f"the answer {written!r} is no integer from 0 to 999")
    return plain


def number(written: str) -> str:
    """A number without thousands separators: ``" 1,234"`` is ``"1234"``."""
    if not _NUMBER.fullmatch(written.strip()):
        raise ValueError(f"the answer {written.strip()[:100]!r} is no number")
    return written.strip().replace(",", "")


def boxed(solution: str) -> str:
    r"""What the last ``\boxed`` of a solution holds; it may be empty."""
    box = last_box(solution)
    if box is None:
        raise ValueError("the solution has no \\boxed answer")
    return box.answer


def content_id(*parts: str) -> str:
    """Twelve hexadecimal digits that name a content, the same wherever and in whatever order its row is read."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:12]


def distinct(items: Iterable[Item]) -> list[Item]:
    """The items in order of their ids; of equal items, the second and later get `-2`, `-3`, ... behind the id.

    Raises:
        ValueError: two different items have one id.
    """
    times: dict[Item, int] = {}
    named: dict[str, Item] = {}
    for item in items:
        times[item] = number = times.get(item, 0) + 1
        name = item.id if number == 1 else f"{item.id}-{number}"
        if name in named:
            raise ValueError(f"two different rows have the id {name!r}")
        named[name] = item._replace(id=name)
    return [named[name] for name in sorted(named)]


def items_hash(items: Sequence[Item]) -> str:
    """SHA-256 over one line of JSON an item, ``[id, question, answer, choices]``, in order of the ids.

    Row order, other columns and the kind of file have no part in it. UTF-8, no ASCII escapes, no spaces between values.
    """
    lines = [
        json.dumps(item, ensure_ascii=False, separators=(",", ":")) + "\n"
        for item in sorted(items, key=lambda item: item.id)
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
