"""Writes a table as CSV (long form, ten significant digits), Markdown, LaTeX and HTML."""

from pathlib import Path

import pandas as pd

from ict_core.store.files import write_text
from ict_core.tables.html import html
from ict_core.tables.latex import latex
from ict_core.tables.markdown import markdown
from ict_core.tables.table import Table

NOTHING = 1e-12  # a share smaller than this is the rounding of a sum


def csv(numbers: pd.DataFrame) -> str:
    """A frame as CSV. Floats have ten significant digits, so that another CPU's last bit does not change the file.

    For the same reason a share or difference below :data:`NOTHING` is 0; p values stay as they are.
    """
    settled = numbers.copy()
    for column in settled.select_dtypes("float").columns:
        if column != "p" and not column.startswith("p_"):
            settled[column] = settled[column].mask(settled[column].abs() < NOTHING, 0.0)
    return str(settled.to_csv(index=False, lineterminator="\n", float_format="%.10g"))


def write(table: Table, out: Path, note: str = "", mixed: str = "") -> list[Path]:
    """Write <name>.csv, .md, .tex and .html into the folder `out`; each appears whole or not at all.

    Args:
        table: what to write.
        out: the folder.
        note: a line of all but the CSV file.
        mixed: that the study is mixed, which a CSV file says in a column of its own; "" if it is not.
    """
    texts = {
        "csv": csv(table.numbers.assign(mixed=mixed) if mixed else table.numbers),
        "md": markdown(table, note),
        "tex": latex(table, note),
        "html": html(table, note),
    }
    paths = []
    for ending, text in texts.items():
        path = out / f"{table.name}.{ending}"
        write_text(path, text)
        paths.append(path)
    return paths
