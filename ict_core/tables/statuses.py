"""Answer statuses: the share of every status in every cell."""

import pandas as pd

from ict_core.statistics.schemas import BASE, CELL
from ict_core.store import records
from ict_core.tables.table import Table, TableSettings, by_row, in_order, rare_percent

SHARES = (*records.STATUSES, "truncated")


def statuses_table(scores: pd.DataFrame, settings: TableSettings) -> Table:
    """The :data:`SHARES` of the samples drawn, one row per cell, base first.

    The six statuses add up to 1; `truncated` (the completion ran into the length limit) overlaps with them.
    """
    variants = [BASE, *settings.variants]
    cells = scores[scores["variant"].isin(variants)].groupby(CELL)[["sampled", *SHARES]].sum().reset_index()
    cells[list(SHARES)] = cells[list(SHARES)].div(cells["sampled"], axis=0)
    numbers = in_order(cells, model=list(scores["model"]), variant=variants)
    readable = numbers[[*CELL, "sampled"]].astype(str)
    for status in SHARES:
        readable[status.replace("_", " ")] = by_row(numbers, [status], rare_percent)
    caption = (
        "Answer statuses in percent of the samples drawn, all benchmarks pooled. The first six add up to 100; "
        "`truncated`, the share of non-terminated answers (the length limit came before any stop id), overlaps with "
        "them. Timeout, memory and error are ungraded: they enter no pass@k."
    )
    return Table(numbers, readable, caption, keys=2)
