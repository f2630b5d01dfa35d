"""A table in its two forms, and what the three markups share."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

_NUMERIC = re.compile(r"[+−<]?\d.*|—")


@dataclass(frozen=True)
class Table:
    """One table in its two forms.

    Attributes:
        name: the files' stem and the LaTeX label.
        numbers: the CSV, long form.
        shown: the readable form, every cell a string.
        caption: Markdown; `code` in backquotes.
        keys: how many leading columns of `shown` name the row's group: a repeated value is printed once.
        title: what stands before the caption in LaTeX and HTML; `build.make_tables` gives it.
    """

    name: str
    numbers: pd.DataFrame
    shown: pd.DataFrame
    caption: str
    keys: int
    title: str = ""


def grouped(shown: pd.DataFrame, keys: int) -> Iterable[tuple[int, list[str]]]:
    """(leading key columns that the row shares with the row above, the row's cells with those blanked)."""
    above: list[str] = []
    for row in shown.astype(str).itertuples(index=False, name=None):
        cells = list(row)
        shared = next((i for i in range(keys) if cells[i : i + 1] != above[i : i + 1]), keys)
        yield shared, [""] * shared + cells[shared:]
        above = cells


def alignments(shown: pd.DataFrame) -> list[str]:
    """`r` for columns of numbers and dashes, `l` for words."""
    columns = (shown.iloc[:, i].astype(str) for i in range(len(shown.columns)))  # two may have one name
    return ["r" if all(map(_NUMERIC.fullmatch, column)) else "l" for column in columns]
