"""Grading by answer type, and which answers can be settled without a worker."""

from collections.abc import Callable
from typing import NamedTuple

from ict_core.grading.boxes import Verdict, last_box
from ict_core.grading.choice import grade_choice
from ict_core.grading.integer import grade_integer, settle_integer
from ict_core.grading.math import grade_math, settle_math_text
from ict_core.grading.number import grade_number, settle_number

Item = tuple[str, str, str]
"""(text, gold answer, answer type)."""

Grader = Callable[[str, str, str], Verdict]
"""A function of the members of an :data:`Item`."""


class _Type(NamedTuple):
    """How one answer type is graded; all take (text, gold).

    Attributes:
        grade: the verdict, without a limit on time.
        settle: the verdict where linear-time code gives it, else None; then the text's last box alone decides it.
    """

    grade: Callable[[str, str], Verdict]
    settle: Callable[[str, str], Verdict | None]


_MATH = _Type(grade_math, settle_math_text)
_TYPES = {
    "math": _MATH,
    "latex": _MATH,
    "integer": _Type(grade_integer, settle_integer),
    "number": _Type(grade_number, settle_number),
    "choice": _Type(grade_choice, grade_choice),
}
SETTLED_LIMIT = 100_000
"""Characters of the longest text that is looked at outside a worker."""


def grade_answer(text: str, gold: str, answer_type: str) -> Verdict:
    """Grade one text by the grader of its answer type, one of ``gold.ANSWER_TYPES``, without a limit on time."""
    return _TYPES[answer_type].grade(text, gold)


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
