"""A table in GitHub's Markdown."""

import re
from collections.abc import Iterable

from ict_core.tables.table import Table, alignments, grouped


def markdown_escape(text: str) -> str:
    """Plain text for Markdown: what would be markup is escaped; `code` in backquotes stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"<(?=[A-Za-z/!?])|&(?=[#\w]+;)|[\\*_\[\]]", r"\\\g<0>", parts[i])
    return "".join(parts)


def markdown(table: Table, note: str = "") -> str:
    """The table below its caption; `note` is a line of its own in bold. Its title is left to the page around it."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(markdown_escape(cell).replace("|", "\\|") for cell in cells) + " |"

    rules = "| " + " | ".join("--:" if a == "r" else ":--" for a in alignments(table.shown)) + " |"
    rows = [line(cells) for _, cells in grouped(table.shown, table.keys)]
    head = [table.caption, *([f"**{markdown_escape(note)}**"] if note else [])]
    return "\n\n".join([*head, "\n".join([line(table.shown.columns), rules, *rows])]) + "\n"
