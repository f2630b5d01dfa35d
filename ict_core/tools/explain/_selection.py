"""One row of a table, by the values of its key columns."""

import re
from pathlib import Path

import pandas as pd

from ict_core.errors import Damaged, UserError
from ict_core.tables import DECLARED, Origin

_LISTED = 12


def table_of(path: Path) -> tuple[Origin, pd.DataFrame]:
    """A table's origin, and its rows as the texts that stand in the file.

    Raises:
        UserError: there is no such file, or it is no table of a study.
        Damaged: it is not CSV, or a key column is missing.
    """
    if path.suffix != ".csv" or path.stem not in DECLARED:
        known = ", ".join(f"{name}.csv" for name in DECLARED)
        allowed = f"results/STUDY/claims.json, and results/STUDY/tables/ with one of {known}"
        raise UserError(f"{path}: no table of a study; allowed: {allowed}")
    try:
        rows = pd.read_csv(path, dtype="str", keep_default_na=False)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file; run the workflow up to the tables") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise Damaged(f"{path}: not a CSV file ({error})", path) from error
    origin = DECLARED[path.stem]
    missing = [key for key in origin.keys if key not in rows.columns]
    if missing:
        raise Damaged(f"{path}: no column {', '.join(missing)}", path)
    return origin, rows


def chosen_row(path: Path, origin: Origin, rows: pd.DataFrame, selection: str) -> "pd.Series[str]":
    """The one row that a selection names.

    Args:
        path: of the table, for messages.
        selection: ``value/value/...`` in the order of the key columns, or ``column=value,...`` of any columns.

    Raises:
        UserError: no row has these values, or several have; the message lists candidates.
    """
    names = "/".join(origin.keys)
    if "=" in selection:
        pairs = [part.partition("=") for part in re.split(r",(?=[^,=]+=)", selection)]  # a value may hold a comma
        wanted = {column.strip(): value.strip() for column, _, value in pairs}
    elif selection.count("/") < len(origin.keys):
        wanted = dict(zip(origin.keys, selection.split("/"), strict=False))
    else:
        raise UserError(f"--cell {selection}: more values than key columns; allowed: {names}")
    unknown = [column for column in wanted if column not in rows.columns]
    if unknown:
        raise UserError(f"--cell {selection}: no column {', '.join(unknown)}; {path} has {', '.join(rows.columns)}")
    for column, value in wanted.items():
        allowed, rows = rows[column], rows[rows[column] == value]
        if rows.empty:
            values = ", ".join(dict.fromkeys(map(repr, allowed.head(1000))))
            raise UserError(f"{path}: no row with {column} {value!r} among these; allowed: {values}")
    if len(rows) > 1:
        lines = ["/".join(row) for row in rows[list(origin.keys)].head(_LISTED).itertuples(index=False)]
        lines += [f"and {len(rows) - _LISTED} more"] if len(rows) > _LISTED else []
        several = f"{len(rows)} rows of {path}; choose one ({names}):"
        raise UserError("\n  ".join([f"--cell {selection}: {several}", *lines]))
    return rows.iloc[0]
