"""GSM8K's problems of one or two steps, test and train: problems that a small model may solve.

A step is a calculation that the worked solution marks, `<<48/2=24>>`; problems without any mark are left out. Rows, ids
and answers are as in :mod:`gsm8k`.
"""

from ict_core.problems.published.load import Item, Row, text
from ict_core.problems.published.readers import gsm8k

MOST_STEPS = 2
solution = gsm8k.solution


def read(row: Row) -> Item | None:
    """A row with `question` and `answer`, the worked solution; None if it has another number of steps."""
    return gsm8k.read(row) if 1 <= text(row, "answer").count("<<") <= MOST_STEPS else None
