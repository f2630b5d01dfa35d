"""A table as CSV (long form, ten significant digits), Markdown and LaTeX, and its files."""

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from ict_core.errors import visible
from ict_core.markdown import markdown_table
from ict_core.store.files import write_text
from ict_core.tables.table import Table

ROWS = 60  # per LaTeX float; a longer table becomes several floats
_NUMERIC = re.compile(r"[+−<]?\d.*|—")
_FORMULA = re.compile(r"(?![-+]?[0-9.,/]*\Z)\s*[=+@-].*\w", re.DOTALL)  # what a spreadsheet may compute: no sign alone
_NARROW = 12  # characters that the heading of any column may have in a line
_LARGE = (40, 10)  # rows and columns beyond which the table is set smaller, so that it still fits a page
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{c: "\\" + c for c in "&%$#_{}"},
        "\u00a0": "~",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "[": "{[}",  # a bracket or star after \\ would be its argument
        "]": "{]}",
        "*": "{*}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "<": "$<$",
        ">": "$>$",
        "±": r"$\pm$",
        "−": "$-$",
        "–": "--",
        "×": r"$\times$",
        "≥": r"$\geq$",
        "Δ": r"$\Delta$",
        "—": "---",
        "→": r"$\rightarrow$",
        "↵": r"$\hookleftarrow$",
        "⇥": r"$\mapsto$",
        "⟨": r"$\langle$",
        "⟩": r"$\rangle$",
        "′": "$'$",
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        "≈": r"$\approx$",
        "∞": r"$\infty$",
        "“": r"\textquotedblleft{}",
        "”": r"\textquotedblright{}",
        "Σ": r"$\Sigma$",
        "Ω": r"$\Omega$",
        "τ": r"$\tau$",
        **{s: rf"\textsuperscript{{{c}}}" for s, c in zip("ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ⁺⁽⁾", "abcdefghijklmnop+()", strict=True)},
        "⁻": r"\textsuperscript{$-$}",
    }
)


def latex_escape(text: str) -> str:
    """Plain text for LaTeX: special characters escaped, the tables' symbols translated, `code` in typewriter type.

    A character that T1 fonts lack, as in a model's token, becomes its code point, such as U+4E2D.
    """
    escaped = re.sub(r"[^\x00-\u017f]|[ĦħĸĿŀŉŦŧſ]", lambda found: f"U+{ord(found[0]):04X}", text.translate(_LATEX))
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", escaped)


def grouped(readable: pd.DataFrame, keys: int) -> Iterable[tuple[int, list[str]]]:
    """For each row, how many leading key columns it shares with the row above, and its cells with these blanked."""
    above: list[str] = []
    for row in readable.astype(str).itertuples(index=False, name=None):
        cells = list(row)
        shared = next((i for i in range(keys) if cells[i : i + 1] != above[i : i + 1]), keys)
        yield shared, [""] * shared + cells[shared:]
        above = cells


def alignments(readable: pd.DataFrame) -> list[str]:
    """`r` for columns of numbers and dashes, `l` for words."""
    columns = (readable.iloc[:, i].astype(str) for i in range(len(readable.columns)))  # two columns may have one name
    return ["r" if all(map(_NUMERIC.fullmatch, column)) else "l" for column in columns]


def _head(rows: pd.DataFrame, align: str) -> str:
    """The row of headings; a heading wider than its column's cells is broken into several lines."""
    cells = []
    for column, side in zip(rows.columns, align, strict=True):
        width = max([_NARROW, *rows[column].map(len)])
        lines = [latex_escape(line) for line in textwrap.wrap(column, width, break_long_words=False)]
        stacked = r" \\ ".join(lines)
        if len(lines) > 1:
            stacked = rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{stacked}\end{{tabular}}"
        cells.append(stacked)
    return " & ".join(cells) + r" \\"


def _parts(table: Table) -> list[pd.DataFrame]:
    """The rows of each float: at most :data:`ROWS`, cut where the outermost possible group begins."""
    shared = [count for count, _ in grouped(table.readable, table.keys)]
    cuts = [0]
    while len(shared) - cuts[-1] > ROWS:
        window = range(cuts[-1] + ROWS, cuts[-1] + ROWS // 2, -1)
        cuts.append(min(window, key=lambda row: shared[row]))  # the latest of equal ones
    return [table.readable.iloc[start:stop] for start, stop in zip(cuts, [*cuts[1:], len(shared)], strict=True)]


def _float(table: Table, rows: pd.DataFrame, part: str, number: int, align: str, note: str) -> list[str]:
    large = len(rows) > _LARGE[0] or len(rows.columns) > _LARGE[1]
    title = latex_escape(table.title + part)
    text = [*([rf"\textbf{{{title}.}}"] if title else []), *([latex_escape(table.caption)] if number == 1 else [])]
    body: list[str] = []
    for shared, cells in grouped(rows, table.keys):
        if body and shared < table.keys:
            body.append(r"\midrule" if shared == 0 else r"\addlinespace[1.5pt]")
        body.append(" & ".join(map(latex_escape, cells)) + r" \\")
    return [
        r"\begin{table*}[tp]",
        r"\centering\setlength{\belowcaptionskip}{6pt}",
        rf"\caption[{title}]{{{' '.join(text)}}}",
        rf"\label{{tab:{table.name}{f'-{number}' if number > 1 else ''}}}",
        r"\scriptsize\setlength{\tabcolsep}{3pt}" if large else r"\footnotesize",
        rf"\sbox0{{\begin{{tabular}}{{{align}}}",
        r"\toprule",
        _head(rows, align),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}}%",
        r"\ifdim\wd0>\textwidth\resizebox{\textwidth}{!}{\usebox0}\else\usebox0\fi",
        *([rf"\par\smallskip\textbf{{{latex_escape(note)}}}"] if note else []),
        r"\end{table*}",
    ]


def latex(table: Table, note: str = "") -> str:
    """The table as `table*` floats of at most :data:`ROWS` rows, shrunk to the text's width where it is wider.

    The preamble needs `booktabs`, `graphicx` and T1 fonts. Labels are tab:<name>, tab:<name>-2, ...; `note` is printed
    in bold under each float.
    """
    parts, align = _parts(table), "".join(alignments(table.readable))
    lines: list[str] = []
    for number, rows in enumerate(parts, start=1):
        part = f", part {number} of {len(parts)}" if len(parts) > 1 else ""
        lines += _float(table, rows, part, number, align, note)
    return "\n".join(lines) + "\n"


def csv(numbers: pd.DataFrame) -> str:
    """A frame as CSV. Floats have ten significant digits, so that another CPU's last bit does not change the file.

    For the same reason a share or difference below 1e-12, the rounding of a sum, becomes 0; p values stay as they are.
    Texts are printable, with an apostrophe in front where a spreadsheet would take them for formulas.
    """
    settled = numbers.copy()
    for column in settled.select_dtypes(exclude=["number", "bool"]).columns:
        texts = settled[column]
        guarded = texts.map(lambda v: "'" * bool(_FORMULA.match(v)) + visible(v) if isinstance(v, str) else v)
        settled[column] = guarded.astype(texts.dtype)
    for column in settled.select_dtypes("float").columns:
        if column != "p" and not column.startswith("p_"):
            settled[column] = settled[column].mask(settled[column].abs() < 1e-12, 0.0)
    return str(settled.to_csv(index=False, lineterminator="\n", float_format="%.10g"))


def markdown_escape(text: str) -> str:
    """Plain text for Markdown: characters of markup are escaped; `code` in backquotes stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"<(?=[A-Za-z/!?])|&(?=[#\w]+;)|[\\*_\[\]]", r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def markdown(table: Table, note: str = "") -> str:
    """The table below its caption and `note`, a line of its own in bold. The title is left to the page around it."""
    rows = [map(markdown_escape, cells) for _, cells in grouped(table.readable, table.keys)]
    body_table = markdown_table([*map(markdown_escape, table.readable.columns)], rows, alignments(table.readable))
    return "\n\n".join([table.caption, *([f"**{markdown_escape(note)}**"] if note else []), body_table])


def write(table: Table, out: Path, note: str = "", mixed: str = "") -> list[Path]:
    """Write <name>.csv, .md and .tex into the folder `out`; each appears whole or not at all.

    `note`, such as that the study is a miniature, is a line of the Markdown and LaTeX files. `mixed`, the note on a
    mixed study, is a column of the CSV file. Either is "" for none.
    """
    texts = {
        "csv": csv(table.numbers.assign(mixed=mixed) if mixed else table.numbers),
        "md": markdown(table, note),
        "tex": latex(table, note),
    }
    for ending, text in texts.items():
        write_text(out / f"{table.name}.{ending}", text)
    return [out / f"{table.name}.{ending}" for ending in texts]
