"""A table in LaTeX: floats that need the packages booktabs and graphicx."""

import re
import textwrap

import pandas as pd

from ict_core.tables._table import Table, alignments, grouped

ROWS = 60  # of one float; a longer table becomes several
_NARROW = 12  # characters that every column may have
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
        "×": r"$\times$",
        "≥": r"$\geq$",
        "Δ": r"$\Delta$",
        "—": "---",
        **{s: rf"\textsuperscript{{{c}}}" for s, c in zip("ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ⁺⁽⁾", "abcdefghijklmnop+()", strict=True)},
        "⁻": r"\textsuperscript{$-$}",
    }
)


def latex_escape(text: str) -> str:
    """Plain text for LaTeX: its special characters escaped, the signs of the tables translated, `code` typewritten."""
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", text.translate(_LATEX))


def _head(rows: pd.DataFrame, align: str) -> str:
    """The headings; one that is wider than its column's cells is broken into several lines."""
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
    """The rows of each float: at most :data:`ROWS`, cut where the outermost group that allows it begins."""
    shared = [count for count, _ in grouped(table.shown, table.keys)]
    cuts = [0]
    while len(shared) - cuts[-1] > ROWS:
        window = range(cuts[-1] + ROWS, cuts[-1] + ROWS // 2, -1)
        cuts.append(min(window, key=lambda row: shared[row]))  # of equal ones the latest
    return [table.shown.iloc[start:stop] for start, stop in zip(cuts, [*cuts[1:], len(shared)], strict=True)]


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

    The preamble needs `booktabs`, `graphicx` and T1 fonts. Labels are tab:<name>, tab:<name>-2, ...; `note` stands in
    bold under each float.
    """
    parts, align = _parts(table), "".join(alignments(table.shown))
    lines: list[str] = []
    for number, rows in enumerate(parts, start=1):
        part = f", part {number} of {len(parts)}" if len(parts) > 1 else ""
        lines += _float(table, rows, part, number, align, note)
    return "\n".join(lines) + "\n"
