"""Verdicts counted: the grades of a cell become its rows of the scores."""

from typing import TYPE_CHECKING

import pandas as pd

from ict_core.errors import UserError
from ict_core.store.records import SCORES, STATUSES, STATUSES_GRADED

if TYPE_CHECKING:
    from ict_core.config import Cell

_PROBLEM = ["benchmark", "problem"]


def count_grades(grades: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts on each problem.

    Args:
        grades: a frame of ``records.GRADES``.

    Returns:
        the columns of ``records.SCORES`` but for the cell, one row a problem in order of first appearance. Ungraded
        samples count in ``sampled`` and not in ``n``.

    Raises:
        UserError: a status that is not one of ``records.STATUSES``.
    """
    unknown = grades[~grades["status"].isin(STATUSES)]
    if len(unknown):
        row = unknown.iloc[0]
        shown = ", ".join(f"{column} {row[column]}" for column in (*_PROBLEM, "sample", "status"))
        raise UserError(f"grades: {shown}: the status is unknown")
    counted = grades[_PROBLEM].assign(
        sampled=1,
        **{status: (grades["status"] == status).astype("int64") for status in STATUSES},
        truncated=(grades["finish_reason"] == "length").astype("int64"),
        tokens=grades["tokens"],
    )
    counts = counted.groupby(_PROBLEM, sort=False, as_index=False).sum()
    return counts.assign(n=counts[list(STATUSES_GRADED)].sum(axis=1))


def score_grades(grades: pd.DataFrame, cell: "Cell") -> pd.DataFrame:
    """The scores of one cell, a frame of ``records.SCORES``, by :func:`count_grades` of its ``records.GRADES``."""
    return count_grades(grades).assign(**cell._asdict())[list(SCORES)]
