"""What two resolved configurations differ in."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

ABSENT = "—"  # in place of the value of a key that one of the two lacks


class Comparison(NamedTuple):
    """What two resolved configurations differ in: the proof that two arms differ in what they declare alone."""

    different: list[tuple[str, Any, Any]]  # each key, dotted, with its value in both, or ABSENT
    equal: int  # how many other keys there are


def compare(first: Mapping[str, Any], second: Mapping[str, Any]) -> Comparison:
    """Compare every value of two nested mappings, in the order of the first, then of the second."""
    ours, theirs = dict(_flat(first)), dict(_flat(second))
    pairs = [(key, ours.get(key, ABSENT), theirs.get(key, ABSENT)) for key in ours | theirs]
    different = [(key, one, other) for key, one, other in pairs if one != other]
    return Comparison(different, len(pairs) - len(different))


def _flat(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
