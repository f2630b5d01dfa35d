"""A table as CSV (long form, ten significant digits), Markdown, LaTeX and HTML, and the files of them."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import pandas as pd

from ict_core.markdown import markdown_table
from ict_core.store import write_text
from ict_core.tables._frames import Table, alignments, grouped

STYLE = """\
.evidence-table{max-width:100%;margin:0 0 2rem;font:15px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif;\
color:#1b1b1b;background:#fff}
.evidence-table .note{font-weight:bold;margin:0 0 .5rem;max-width:60rem}
.evidence-table .caption{margin:0 0 .75rem;max-width:60rem}
.evidence-table code{font:.92em ui-monospace,Consolas,monospace;background:#f0f0f0;padding:0 .2em;white-space:nowrap}
.evidence-table .scroll{overflow-x:auto}
.evidence-table table{border-collapse:collapse;border-bottom:2px solid #333;font-size:13.5px;\
font-variant-numeric:tabular-nums}
.evidence-table th,.evidence-table td{padding:.2rem .38rem;text-align:left;white-space:nowrap;vertical-align:baseline;\
border:0;background:none;color:inherit}
.evidence-table thead th{white-space:normal;vertical-align:bottom;\
border-top:2px solid #333;border-bottom:1px solid #333;font-weight:600}
.evidence-table .r{text-align:right}
.evidence-table tr.group>*{border-top:1px solid #888}
.evidence-table tr.subgroup>*{border-top:1px solid #ddd}
.evidence-table tbody th{font-weight:normal}
.evidence-table tbody tr:hover>*{background:#f5f8fc}
"""


def html_escape(text: str) -> str:
    """Plain text for HTML, in ASCII whatever the page's encoding; `code` in backquotes becomes code."""
    code = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))
    return code.encode("ascii", "xmlcharrefreplace").decode()


def _cells(row: Iterable[str], sides: Sequence[str], headings: int, scope: str) -> str:
    """A row's cells, the first of them headings of that scope."""
    cells = []
    for i, (cell, side) in enumerate(zip(row, sides, strict=True)):
        align = ' class="r"' if side == "r" else ""
        tag, attributes = ("th", f' scope="{scope}"{align}') if i < headings else ("td", align)
        cells.append(f"<{tag}{attributes}>{html_escape(cell)}</{tag}>")
    return "".join(cells)


def html_section(table: Table, note: str = "") -> str:
    """The table as a `section` with its style inside, `note` in bold on top; several may stand in one page."""
    sides, rows = alignments(table.shown), []
    for number, (shared, row) in enumerate(grouped(table.shown, table.keys)):
        rule = "" if number == 0 or shared == table.keys else ' class="group"' if shared == 0 else ' class="subgroup"'
        rows.append(f"<tr{rule}>{_cells(row, sides, table.keys, 'row')}</tr>")
    title = [f"<strong>{html_escape(table.title)}.</strong>"] if table.title else []
    lines = [
        f'<section class="evidence-table" id="table-{html_escape(table.name)}">',
        f"<style>\n{STYLE}</style>",
        *([f'<p class="note">{html_escape(note)}</p>'] if note else []),
        f'<p class="caption">{" ".join([*title, html_escape(table.caption)])}</p>',
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html_escape(table.title or table.name)}">',
        "<table>",
        f"<thead><tr>{_cells(table.shown.columns, sides, len(sides), 'col')}</tr></thead>",
        "<tbody>",
        *rows,
        "</tbody>\n</table>\n</div>\n</section>",
    ]
    return "\n".join(lines) + "\n"


def html(table: Table, note: str = "") -> str:
    """:func:`html_section` as a page that needs no other file; in ASCII."""
    title = html_escape(table.title or table.name)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n</head>\n'
        f'<body style="margin:1.25rem;background:#fff">\n{html_section(table, note)}</body>\n</html>\n'
    )


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
        "Σ": r"$\Sigma$",
        "Ω": r"$\Omega$",
        "τ": r"$\tau$",
        **{s: rf"\textsuperscript{{{c}}}" for s, c in zip("ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ⁺⁽⁾", "abcdefghijklmnop+()", strict=True)},
        "⁻": r"\textsuperscript{$-$}",
    }
)


def latex_escape(text: str) -> str:
    """Plain text for LaTeX: its special characters escaped, the signs of the tables translated, `code` typewritten.

    A character of a model's token that T1 fonts lack is told by its number.
    """
    escaped = re.sub(r"[^\x00-\u017f]", lambda found: f"U+{ord(found[0]):04X}", text.translate(_LATEX))
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", escaped)


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


def csv(numbers: pd.DataFrame) -> str:
    """A frame as CSV. Floats have ten significant digits, so that another CPU's last bit does not change the file.

    For the same reason a share or difference below 1e-12, the rounding of a sum, is 0; p values stay as they are.
    """
    settled = numbers.copy()
    for column in settled.select_dtypes("float").columns:
        if column != "p" and not column.startswith("p_"):
            settled[column] = settled[column].mask(settled[column].abs() < 1e-12, 0.0)
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

    `note`, such as that the study is a miniature, is a line of all but the CSV file; `mixed`, that it is mixed, a
    column of the CSV file. Each is "" for none.
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
