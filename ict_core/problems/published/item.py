"""What every reader makes of a row: a problem with its gold answer, under an id that does not depend on row order."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


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
    """A column's text without surrounding whitespace.

    Raises:
        ValueError: the column is not there, no text, or empty.
    """
    if column not in row:
        raise ValueError(f"there is no column {column!r}; allowed: a file whose `columns` name it")
    value = row[column]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"column {column!r} holds no text")
    return value.strip()


def label(row: Row, column: str) -> str:
    """A column's number or text, as text.

    Raises:
        ValueError: as :func:`text`.
    """
    value = row.get(column)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text(row, column)


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
