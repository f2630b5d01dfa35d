"""Small pieces of Markdown that the pages share."""

from collections.abc import Iterable, Sequence
from pathlib import Path


def table(header: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()) -> str:
    """A Markdown table; the columns in `right` are aligned there."""

    def line(cells: Iterable[object]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    rules = "| " + " | ".join("--:" if i in right else ":--" for i in range(len(header))) + " |"
    return "\n".join([line(header), rules, *map(line, rows)]) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a text that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8", newline="\n")
    partial.replace(path)
