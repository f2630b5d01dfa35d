"""What two resolved configurations differ in: the proof that two arms differ in nothing but what they declare."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

ABSENT = "—"


class KeyDifference(NamedTuple):
    """One key, dotted, with its value in both; :data:`ABSENT` where one lacks it."""

    key: str
    first: Any
    second: Any


class Comparison(NamedTuple):
    """The keys in which two configurations differ, and the number of those in which they are equal."""

    different: list[KeyDifference]
    equal: int


def compare(first: Mapping[str, Any], second: Mapping[str, Any]) -> Comparison:
    """Compare every value of two nested mappings, in the order of the first, then of the second."""
    ours, theirs = dict(_flat(first)), dict(_flat(second))
    pairs = [
        KeyDifference(key, ours.get(key, ABSENT), theirs.get(key, ABSENT)) for key in dict.fromkeys([*ours, *theirs])
    ]
    different = [pair for pair in pairs if pair.first != pair.second]
    return Comparison(different, len(pairs) - len(different))


def _flat(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
