"""A table as HTML: a section to be pasted into a page, or a page of its own."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from ict_core.tables._table import Table, alignments, grouped

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
    """The table as a `section` with the id `table-<name>`, its style inside; `note` stands in bold on top.

    Several may stand in one page: every rule of the style is bound to the class `evidence-table`. A table wider than
    the window scrolls by itself.
    """
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
        "</tbody>",
        "</table>",
        "</div>",
        "</section>",
    ]
    return "\n".join(lines) + "\n"


def html(table: Table, note: str = "") -> str:
    """:func:`html_section` as a page that needs no other file; in ASCII."""
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        f'<head>\n<meta charset="utf-8">\n<title>{html_escape(table.title or table.name)}</title>\n</head>',
        '<body style="margin:1.25rem;background:#fff">',
        f"{html_section(table, note)}</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"
