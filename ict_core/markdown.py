"""The one writer of Markdown tables."""

from collections.abc import Iterable, Sequence

from tabulate import DataRow, TableFormat, tabulate

_RULES = {"l": ":--", "r": "--:", "-": "---"}
_WORDS = {"l": "left", "r": "right"}
_ROW = DataRow("| ", " | ", " |")


def markdown_table(
    heads: Sequence[str], rows: Iterable[Iterable[object]], sides: Sequence[str] = "", *, padded: bool = False
) -> str:
    """A table in GitHub's Markdown that ends with a newline; a `|` is escaped and a cell's lines are joined.

    Args:
        heads: the columns' headings.
        rows: the cells of each row, one for each heading.
        sides: the alignment of each column: `l`, `r`, or `-` for none; all `l` by default.
        padded: pad the cells to their column's width, for a terminal; `-` is then not allowed.
    """
    sides = sides or "l" * len(heads)
    cells = [[" ".join(str(cell).replace("|", "\\|").splitlines()) for cell in row] for row in (heads, *rows)]
    if padded:
        aligned = [_WORDS[side] for side in sides]
        return tabulate(cells[1:], cells[0], tablefmt="pipe", colalign=aligned, disable_numparse=True) + "\n"
    rule = f"| {' | '.join(_RULES[side] for side in sides)} |"
    plain = TableFormat(None, lambda _widths, _sides: rule, None, None, _ROW, _ROW, 0, None)
    return tabulate(cells[1:], cells[0], tablefmt=plain, stralign=None, disable_numparse=True) + "\n"
