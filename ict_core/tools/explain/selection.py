"""One row of a table, by the values of its key columns."""

import re
from pathlib import Path

import pandas as pd

from ict_core.errors import Damaged, UserError
from ict_core.tables.declaration import Origin
from ict_core.tables.registry import DECLARED

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
        origin: of the table.
        rows: all of it.
        selection: ``value/value/...`` in the order of the key columns, or ``column=value,...`` of any columns.

    Raises:
        UserError: no row has these values, or several have; the message lists candidates.
    """
    wanted = _wanted(path, origin, rows, selection)
    found = rows
    for column, value in wanted.items():
        narrower = found[found[column] == value]
        if narrower.empty:
            values = ", ".join(dict.fromkeys(map(repr, found[column].head(1000))))
            raise UserError(f"{path}: no row with {column} {value!r} among these; allowed: {values}")
        found = narrower
    if len(found) > 1:
        lines = ["/".join(row) for row in found[list(origin.keys)].head(_LISTED).itertuples(index=False)]
        more = f"\n  and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        listed = "".join(f"\n  {line}" for line in lines)
        raise UserError(
            f"--cell {selection}: {len(found)} rows of {path}; choose one ({'/'.join(origin.keys)}):{listed}{more}"
        )
    return found.iloc[0]


def _wanted(path: Path, origin: Origin, rows: pd.DataFrame, selection: str) -> dict[str, str]:
    if "=" in selection:
        pairs = [part.partition("=") for part in re.split(r",(?=[^,=]+=)", selection)]  # a value may hold a comma
        wanted = {column.strip(): value.strip() for column, _, value in pairs}
    else:
        values = selection.split("/")
        if len(values) > len(origin.keys):
            raise UserError(f"--cell {selection}: more values than key columns; allowed: {'/'.join(origin.keys)}")
        wanted = dict(zip(origin.keys, values, strict=False))
    unknown = [column for column in wanted if column not in rows.columns]
    if unknown:
        raise UserError(f"--cell {selection}: no column {', '.join(unknown)}; {path} has {', '.join(rows.columns)}")
    return wanted
