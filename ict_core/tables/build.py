"""All tables of a study, from its scores."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ict_core.statistics.runs import run_frame
from ict_core.tables.contrasts import KS, contrasts, contrasts_table
from ict_core.tables.main import main_numbers, main_table
from ict_core.tables.statuses import status_numbers, status_table
from ict_core.tables.thresholds import threshold_numbers, threshold_table
from ict_core.tables.write import Table, write

TABLES = ("main", "contrasts", "thresholds", "statuses")


def make_tables(scores: pd.DataFrame, variants: Sequence[str], baselines: Sequence[str]) -> list[Table]:
    """The tables named in :data:`TABLES`, in that order.

    Args:
        scores: a frame of `records.SCORES`.
        variants: the variants to show, in order; base goes first where it was evaluated, named or not.
        baselines: the variants to test against.

    Raises:
        UserError: incomplete scores (missing problem, missing seed, n < 4), a variant without runs, or a bad baseline;
            the message names it.
    """
    runs = run_frame(scores, KS)
    tests = contrasts(runs, variants, baselines)
    return [
        main_table(main_numbers(runs, variants), tests),
        contrasts_table(tests),
        threshold_table(threshold_numbers(runs, variants)),
        status_table(status_numbers(scores, variants)),
    ]


def build_tables(
    scores: pd.DataFrame, variants: Sequence[str], baselines: Sequence[str], note: str, out: Path
) -> list[Path]:
    """Write every table of :func:`make_tables` as CSV, Markdown and LaTeX into the folder `out`.

    Args:
        note: a line for every table, for example that the study is a miniature; "" for none.

    Returns:
        The files written: <name>.csv, <name>.md, <name>.tex for each name in :data:`TABLES`.

    Raises:
        UserError: as :func:`make_tables`; nothing is written then.
    """
    return [path for table in make_tables(scores, variants, baselines) for path in write(table, out, note)]
