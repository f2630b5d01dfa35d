"""Grading by answer type, and which answers can be settled without a worker."""

from collections.abc import Callable

from ict_core.grading._choice import grade_choice
from ict_core.grading._number import settle_integer, settle_number
from ict_core.grading.boxes import Verdict
from ict_core.grading.math import grade_math, settle_math_text

Item = tuple[str, str, str]  # text, gold answer, answer type
Grader = Callable[[str, str, str], Verdict]  # of the members of an item

SETTLERS: dict[str, Callable[[str, str], Verdict | str]] = {
    "math": settle_math_text,
    "latex": settle_math_text,
    "integer": settle_integer,
    "number": settle_number,
    "choice": grade_choice,
}
"""By answer type, what gives the verdict on (text, gold) where linear-time code can, else the answer of the text, on
which math-verify decides."""

SETTLED_LIMIT = 100_000  # characters of the longest text that is looked at outside a worker


def grade_answer(text: str, gold: str, answer_type: str) -> Verdict:
    """Grade one text by its answer type, of ``grading.gold.ANSWER_TYPES``; :func:`grade_math` has limits, errors."""
    settled = SETTLERS[answer_type](text, gold)
    return grade_math(settled, gold) if isinstance(settled, str) else settled


def settle(item: Item) -> Verdict | Item:
    """The verdict, where linear-time code gives one; otherwise the item for a worker, its text cut to the answer's box.

    Cutting makes equal answers to one problem equal items. A text beyond :data:`SETTLED_LIMIT` is returned as it is. A
    missing text (None) is an ``error``: nothing was there to grade, which says nothing about the model.
    """
    text, gold, answer_type = item
    if not isinstance(text, str) or not isinstance(gold, str):
        return Verdict("error")
    if len(text) > SETTLED_LIMIT:
        return item
    settled = SETTLERS[answer_type](text, gold)
    return (f"\\boxed{{{settled}}}", gold, answer_type) if isinstance(settled, str) else settled
