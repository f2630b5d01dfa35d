"""Grading by answer type, and which answers can be settled without a worker."""

import re
from collections.abc import Callable

from ict_core.grading._choice import grade_choice
from ict_core.grading._number import settle_integer, settle_number
from ict_core.grading.boxes import Verdict
from ict_core.grading.math import grade_math, settle_math_text

Item = tuple[str, str, str]  # text, gold answer, answer type
Grader = Callable[[str, str, str], Verdict]  # takes the members of an item

SETTLERS: dict[str, Callable[[str, str], Verdict | str]] = {
    "math": settle_math_text,
    "latex": settle_math_text,
    "integer": settle_integer,
    "number": settle_number,
    "choice": grade_choice,
}
"""For each answer type, a function of (text, gold). It returns the verdict if linear-time code can give one, else the
text's answer, for math-verify."""

_MINUS = re.compile(r"(?<![0-9])[\u2013\u2212](?=\\?\$?\.?[0-9])")  # an en dash or a minus sign, not of a range

SETTLED_LIMIT = 100_000  # characters of the longest text that is examined outside a worker


def grade_answer(text: str, gold: str, answer_type: str) -> Verdict:
    """Grade one text by its type in ``grading.gold.ANSWER_TYPES``; see :func:`grade_math` for limits and errors."""
    settled, gold = _settled(text, gold, answer_type)
    return grade_math(settled, gold) if isinstance(settled, str) else settled


def _settled(text: str, gold: str, answer_type: str) -> tuple[Verdict | str, str]:
    """What the type's function gives, and the gold answer, where dashes before numbers are hyphens in both."""
    text, gold = (_MINUS.sub("-", one) for one in (text, gold))
    return SETTLERS[answer_type](text, gold), gold


def settle(item: Item) -> Verdict | Item:
    """The verdict if linear-time code gives one; otherwise the item for a worker, its text cut to the answer's box.

    Cutting makes equal answers to one problem equal items. A text beyond :data:`SETTLED_LIMIT` is returned unchanged. A
    missing text (None) is an ``error``: there was nothing to grade, which says nothing about the model.
    """
    text, gold, answer_type = item
    if not isinstance(text, str) or not isinstance(gold, str):
        return Verdict("error")
    if len(text) > SETTLED_LIMIT:
        return item
    settled, gold = _settled(text, gold, answer_type)
    return (f"\\boxed{{{settled}}}", gold, answer_type) if isinstance(settled, str) else settled
