"""Grading by answer type, and which answers can be settled without a worker."""

from collections.abc import Callable

from ict_core.grading.boxes import Verdict, last_box
from ict_core.grading.choice import grade_choice
from ict_core.grading.math import grade_math, settle_math

Item = tuple[str, str, str]
"""(text, gold answer, answer type)."""

Grader = Callable[[str, str, str], Verdict]
"""A function of the members of an :data:`Item`."""

_GRADERS: dict[str, Callable[[str, str], Verdict]] = {"math": grade_math, "choice": grade_choice}
ANSWER_TYPES = tuple(_GRADERS)

SETTLED_LIMIT = 100_000
"""Characters of the longest text that is looked at outside a worker."""


def grade_answer(text: str, gold: str, answer_type: str) -> Verdict:
    """Grade one text by the grader of its answer type, one of :data:`ANSWER_TYPES`, without a limit on time."""
    return _GRADERS[answer_type](text, gold)


def settle(item: Item) -> Verdict | Item:
    """The verdict, where linear-time code gives one; otherwise the item for a worker, its text cut to the last box.

    Cutting makes equal answers to one problem equal items. A text beyond :data:`SETTLED_LIMIT` is returned as it is.
    """
    text, gold, answer_type = item
    if len(text) > SETTLED_LIMIT:
        return item
    if answer_type == "choice":
        return grade_choice(text, gold)
    box = last_box(text)
    if box is None:
        return Verdict("no_answer")
    return settle_math(box.answer, gold) or (box.markup, gold, answer_type)
