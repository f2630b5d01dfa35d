"""The nearest pairs of an evaluation and a training question, by id."""

import pandas as pd

from ict_core.contamination.overlap import SIMILAR
from ict_core.tables.table import Table, TableSettings, in_order, number

SHOWN = 10  # pairs per benchmark in the readable table


def near_duplicates_table(near_duplicates: pd.DataFrame, settings: TableSettings) -> Table:
    numbers = in_order(near_duplicates, benchmark=settings.mirrors)
    nearest = numbers.groupby("benchmark", sort=False).head(SHOWN)
    readable = nearest.assign(similarity=[number(value, 3) for value in nearest["similarity"]])
    readable = readable.rename(columns=lambda name: name.replace("_", " ")).reset_index(drop=True)
    caption = (
        f"Pairs of an evaluation and a training question with a similarity of {SIMILAR:g} or more (see the table of "
        f"contamination); of each benchmark the {SHOWN} nearest, {len(numbers)} pairs in the CSV. A near-duplicate is "
        "a warning: questions that differ by one sign or number have other answers. Same answer: as the grader of "
        "mathematical answers finds; of a multiple choice the text of the right option counts."
    )
    if numbers.empty:
        caption = f"No evaluation question has a similarity of {SIMILAR:g} or more with a training question."
    return Table(numbers, readable, caption, keys=2)
