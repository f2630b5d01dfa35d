"""MATH-500: 500 problems of the test split of MATH.

Papers: Hendrycks et al. 2021, arXiv:2103.03874 (MATH); Lightman et al. 2023, arXiv:2305.20050 (the choice of 500).
Hub: HuggingFaceH4/MATH-500, one unnamed config, split test; the id is the path in MATH: `test/precalculus/807.json`.
"""

from ict_core.problems.published.load import Item, Row, text


def read(row: Row) -> Item:
    """A row with `unique_id`, `problem` and `answer` (LaTeX)."""
    return Item(text(row, "unique_id"), text(row, "problem"), text(row, "answer"))
