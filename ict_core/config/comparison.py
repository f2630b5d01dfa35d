"""The differences between two resolved configurations."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

ABSENT = "—"  # shown for the value of a key that one of the two does not have


class Comparison(NamedTuple):
    """The differences between two resolved configurations: proof that two arms differ only in what they declare."""

    different: list[tuple[str, Any, Any]]  # each dotted key with its value in both, or ABSENT
    equal: int  # the number of keys with equal values


def compare(first: Mapping[str, Any], second: Mapping[str, Any]) -> Comparison:
    """Compare all values of two nested mappings; keys keep the order of the first, then of the second."""
    left, right = dict(_flat(first)), dict(_flat(second))
    pairs = [(key, left.get(key, ABSENT), right.get(key, ABSENT)) for key in left | right]
    different = [(key, value, other) for key, value, other in pairs if value != other]
    return Comparison(different, len(pairs) - len(different))


def _flat(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
