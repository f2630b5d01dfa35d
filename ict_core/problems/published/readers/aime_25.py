"""AIME 2025: the 30 problems of the two American Invitational Mathematics Examinations, answers 0 to 999.

Hub: math-ai/aime25, one unnamed config, split test; `id` counts from 0, AIME I first. An answer is a text or integer.
"""

from ict_core.problems.published.load import Item, Row, integer, label, text


def read(row: Row) -> Item:
    """A row with `id`, `problem` and `answer`."""
    return Item(label(row, "id"), text(row, "problem"), integer(row.get("answer")))
