r"""AIME 2024: the 30 problems of the two American Invitational Mathematics Examinations, answers 0 to 999.

Hub: math-ai/aime24, one unnamed config, split test. There is no answer column: `solution` is just the boxed answer.
"""

from ict_core.problems.published.load import Item, Row, boxed, integer, label, text


def read(row: Row) -> Item:
    """A row with `id` (60 to 89), `problem` and `solution`."""
    return Item(label(row, "id"), text(row, "problem"), integer(boxed(text(row, "solution"))))
