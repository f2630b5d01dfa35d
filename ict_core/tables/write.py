"""Tables as CSV (full precision, long form), Markdown and LaTeX (booktabs)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

_LARGE = (40, 10)  # rows and columns beyond which the LaTeX table is set smaller, so that it still fits a page
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{c: "\\" + c for c in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": "$<$",
        ">": "$>$",
        "±": r"$\pm$",
        "−": "$-$",
        "Δ": r"$\Delta$",
        "—": "---",
        **{s: rf"\textsuperscript{{{c}}}" for s, c in zip("ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ⁺", "abcdefghijklmnop+", strict=True)},
        "⁻": r"\textsuperscript{$-$}",
    }
)


@dataclass(frozen=True)
class Table:
    """One table in its two forms.

    Attributes:
        name: the files' stem and the LaTeX label.
        numbers: the CSV, long form and full precision.
        shown: the readable form, every cell a string.
        caption: Markdown; `code` in backquotes.
        keys: how many leading columns of `shown` name the row's group: a repeated value is printed once.
    """

    name: str
    numbers: pd.DataFrame
    shown: pd.DataFrame
    caption: str
    keys: int


def _blocks(table: Table) -> Iterable[tuple[int, list[str]]]:
    """(leading key columns that the row shares with the row above, the row's cells with those blanked)."""
    above: list[str] = []
    for row in table.shown.astype(str).itertuples(index=False, name=None):
        cells = list(row)
        shared = next((i for i in range(table.keys) if cells[i : i + 1] != above[i : i + 1]), table.keys)
        yield shared, [""] * shared + cells[shared:]
        above = cells


def _alignments(table: Table) -> list[str]:
    """`r` for columns of numbers, `l` for words."""
    numeric = re.compile(r"[+−<]?\d.*|—")
    return ["r" if all(numeric.fullmatch(str(cell)) for cell in table.shown[c]) else "l" for c in table.shown.columns]


def markdown(table: Table, note: str = "") -> str:
    """The table in GitHub's Markdown, below its caption; `note` is a line of its own."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rules = ["--:" if a == "r" else ":--" for a in _alignments(table)]
    rows = [line(cells) for _, cells in _blocks(table)]
    head = [table.caption, *([f"**{note}**"] if note else [])]
    return "\n\n".join([*head, "\n".join([line(table.shown.columns), line(rules), *rows])]) + "\n"


def latex_escape(text: str) -> str:
    """Plain text for LaTeX: its special characters escaped, the signs of the tables translated, `code` typewritten."""
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", text.translate(_LATEX))


def latex(table: Table, note: str = "") -> str:
    """The table as a `table*` float that needs the booktabs package only; `note` is a line under it."""

    def line(cells: Iterable[str]) -> str:
        return " & ".join(latex_escape(cell) for cell in cells) + r" \\"

    large = len(table.shown) > _LARGE[0] or len(table.shown.columns) > _LARGE[1]
    body: list[str] = []
    for shared, cells in _blocks(table):
        if body and shared < table.keys:
            body.append(r"\midrule" if shared == 0 else r"\addlinespace[1.5pt]")
        body.append(line(cells))
    lines = [
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{latex_escape(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        r"\scriptsize\setlength{\tabcolsep}{2pt}" if large else r"\footnotesize",
        rf"\begin{{tabular}}{{{''.join(_alignments(table))}}}",
        r"\toprule",
        line(table.shown.columns),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        *([rf"\par\smallskip\textbf{{{latex_escape(note)}}}"] if note else []),
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def write(table: Table, out: Path, note: str = "") -> list[Path]:
    """Write <name>.csv, <name>.md and <name>.tex into the folder `out`; each appears whole or not at all."""
    out.mkdir(parents=True, exist_ok=True)
    texts = {
        "csv": table.numbers.to_csv(index=False, lineterminator="\n"),
        "md": markdown(table, note),
        "tex": latex(table, note),
    }
    paths = []
    for ending, text in texts.items():
        path = out / f"{table.name}.{ending}"
        partial = path.with_name(path.name + ".partial")
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(path)
        paths.append(path)
    return paths
