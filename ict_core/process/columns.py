"""Rows of texts as aligned columns, for a terminal."""

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """One line a row, each column as wide as its longest text; all rows have as many columns as the first."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(f"{indent}{'  '.join(map(str.ljust, row, widths))}".rstrip() + "\n" for row in rows)
