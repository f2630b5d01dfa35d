"""GPQA: graduate-level questions in biology, physics and chemistry, four options each.

Paper: Rein et al. 2023, arXiv:2311.12022. Hub: Idavidrein/gpqa, split train, config gpqa_diamond (198 rows) unless
another is chosen (gpqa_main 448, gpqa_extended 546). Gated: the licence must be accepted on the hub, and its authors
ask that no example be shown in plain text, so no message of this file has any.

The hub gives the right option and three wrong ones, without letters. Their order is derived from the record's id alone:
the same for every run and seed, and over many records each letter is right equally often.
"""

from ict_core.grading.gold import LETTERS
from ict_core.problems.published.load import Item, Row, text
from ict_core.seeding import derive_seed

_OPTIONS = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")


def read(row: Row) -> Item:
    """A row with `Record ID`, `Question` and the four columns of options."""
    record = text(row, "Record ID")
    order = sorted(range(len(_OPTIONS)), key=lambda option: derive_seed(0, "options", record, option))
    options = tuple(text(row, _OPTIONS[option]) for option in order)
    return Item(record, text(row, "Question"), LETTERS[order.index(0)], options)
