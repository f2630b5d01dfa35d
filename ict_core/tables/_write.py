"""Writes a table as CSV (long form, ten significant digits), Markdown, LaTeX and HTML."""

import re
from pathlib import Path

import pandas as pd

from ict_core.markdown import markdown_table
from ict_core.store import write_text
from ict_core.tables._html import html
from ict_core.tables._latex import latex
from ict_core.tables._table import Table, alignments, grouped

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


def markdown_escape(text: str) -> str:
    """Plain text for Markdown: what would be markup is escaped; `code` in backquotes stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"<(?=[A-Za-z/!?])|&(?=[#\w]+;)|[\\*_\[\]]", r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def markdown(table: Table, note: str = "") -> str:
    """The table below its caption; `note` is a line of its own in bold. Its title is left to the page around it."""
    rows = [map(markdown_escape, cells) for _, cells in grouped(table.shown, table.keys)]
    whole = markdown_table([*map(markdown_escape, table.shown.columns)], rows, alignments(table.shown))
    return "\n\n".join([table.caption, *([f"**{markdown_escape(note)}**"] if note else []), whole])


def write(table: Table, out: Path, note: str = "", mixed: str = "") -> list[Path]:
    """Write <name>.csv, .md, .tex and .html into the folder `out`; each appears whole or not at all.

    Args:
        note: a line of all but the CSV file, for example that the study is a miniature; "" for none.
        mixed: that the study is mixed, which a CSV file says in a column of its own; "" if it is not.
    """
    texts = {
        "csv": csv(table.numbers.assign(mixed=mixed) if mixed else table.numbers),
        "md": markdown(table, note),
        "tex": latex(table, note),
        "html": html(table, note),
    }
    for ending, text in texts.items():
        write_text(out / f"{table.name}.{ending}", text)
    return [out / f"{table.name}.{ending}" for ending in texts]
