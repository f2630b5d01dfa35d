"""The Markdown that the pages share."""

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()) -> str:
    """A Markdown table; the columns in `right` are aligned there."""

    def line(cells: Iterable[object]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    rules = "| " + " | ".join("--:" if i in right else ":--" for i in range(len(header))) + " |"
    return "\n".join([line(header), rules, *map(line, rows)]) + "\n"
