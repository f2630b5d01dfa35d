"""Grading by answer type, and which answers can be settled without a worker."""

from collections.abc import Callable
from typing import NamedTuple

from ict_core.grading.boxes import Verdict, last_box
from ict_core.grading.choice import CHOICES, grade_choice
from ict_core.grading.integer import LARGEST, grade_integer, is_integer_gold, settle_integer
from ict_core.grading.math import grade_math, settle_math_text
from ict_core.grading.number import grade_number, read_number, settle_number

Item = tuple[str, str, str]
"""(text, gold answer, answer type)."""

Grader = Callable[[str, str, str], Verdict]
"""A function of the members of an :data:`Item`."""


class _Type(NamedTuple):
    """How one answer type is graded; all take (text, gold).

    Attributes:
        grade: the verdict, without a limit on time.
        settle: the verdict where linear-time code gives it, else None; then the text's last box alone decides it.
        admits: whether a gold answer can be graded.
        wanted: what a gold answer must be, in words.
    """

    grade: Callable[[str, str], Verdict]
    settle: Callable[[str, str], Verdict | None]
    admits: Callable[[str], bool]
    wanted: str


_MATH = _Type(grade_math, settle_math_text, lambda gold: gold.strip() != "", "an expression")
_TYPES = {
    "math": _MATH,
    "latex": _MATH,
    "integer": _Type(grade_integer, settle_integer, is_integer_gold, f"an integer from 0 to {LARGEST}"),
    "number": _Type(grade_number, settle_number, lambda gold: read_number(gold) is not None, "a number"),
    "choice": _Type(grade_choice, grade_choice, CHOICES.__contains__, f"one of {', '.join(CHOICES)}"),
}
ANSWER_TYPES = tuple(_TYPES)
"""``math`` is the name of ``latex`` in the generated benchmarks: one grader, two names."""

SETTLED_LIMIT = 100_000
"""Characters of the longest text that is looked at outside a worker."""


def grade_answer(text: str, gold: str, answer_type: str) -> Verdict:
    """Grade one text by the grader of its answer type, one of :data:`ANSWER_TYPES`, without a limit on time."""
    return _TYPES[answer_type].grade(text, gold)


def refusal(gold: str, answer_type: str) -> str | None:
    """What a gold answer of a type must be, in words, where this one is not; else None."""
    kind = _TYPES[answer_type]
    return None if kind.admits(gold) else kind.wanted


def settle(item: Item) -> Verdict | Item:
    """The verdict, where linear-time code gives one; otherwise the item for a worker, its text cut to the last box.

    Cutting makes equal answers to one problem equal items. A text beyond :data:`SETTLED_LIMIT` is returned as it is. A
    missing text (None) is an ``error``: nothing was there to grade, which says nothing about the model.
    """
    text, gold, answer_type = item
    if not isinstance(text, str) or not isinstance(gold, str):
        return Verdict("error")
    if len(text) > SETTLED_LIMIT:
        return item
    settled = _TYPES[answer_type].settle(text, gold)
    if settled is not None:
        return settled
    box = last_box(text)
    return (box.markup if box else text, gold, answer_type)
