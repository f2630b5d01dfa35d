"""The calibration as Markdown: the tables of docs/calibration.md, which `python scripts/reference.py` writes."""

from collections.abc import Sequence

import pandas as pd

from ict_core.calibration.measure import NEW, OTHER, PLAIN, PRIMARY, ROLES, SECOND, THESE, UNSAFE, UNTRAINED
from ict_core.markdown import markdown_table


def table(frame: pd.DataFrame, rows: Sequence[str] = ("method", "truth", "role"), columns: str = "size") -> str:
    """A Markdown table of rates, in per cent by rising seeds: bold where the method does not keep its word.

    The columns `rows` tell its rows apart, `columns` its columns; both stand in the order of the frame. A dash where
    nothing was measured.
    """
    texts = (100 * frame["rate"]).map("{:.1f}".format)
    texts = texts.where(frame["verdict"] != "does not", "**" + texts + "**")
    by_place = frame.assign(text=texts).set_index([*rows, columns, "seeds"])["text"].to_dict()
    heads, seeds = list(frame[columns].unique()), sorted(frame["seeds"].unique())
    lines = []
    for key in frame[list(rows)].drop_duplicates().itertuples(index=False, name=None):
        cells = [[by_place.get((*key, head, number), "-") for number in seeds] for head in heads]
        lines.append([*key, *("-" if set(cell) == {"-"} else " / ".join(cell) for cell in cells)])
    names = [*rows, *heads]
    return markdown_table(names, lines, "-" * len(names)).rstrip()


def tables(frame: pd.DataFrame) -> dict[str, str]:
    """The tables of the documentation by their captions, from a frame of `calibrated.COLUMNS`.

    Of a second view or unsafe method for a difference, only the reading for new problems is shown, and of the cases
    other than the plain one what decides and who is misled.
    """
    frame = frame.sort_values("role", key=lambda roles: roles.map(ROLES.index), kind="stable")
    plain, one = (frame["case"] == case.name for case in (PLAIN, UNTRAINED))
    gaps, levels, tests = (frame["quantity"] == name for name in ("difference", "level", "false positives"))
    again = (frame["truth"] == THESE) & ((frame["role"] == UNSAFE) | (gaps & (frame["role"] == SECOND)))
    decides = (frame["role"] == PRIMARY) | (gaps & (frame["truth"] == NEW) & frame["role"].isin([OTHER, SECOND]))
    other = frame[~plain & ~one & decides]
    other = other.sort_values("case", key=lambda cases: cases.map(list(dict.fromkeys(cases)).index), kind="stable")
    return {
        "Coverage of a difference": table(frame[plain & gaps & ~again]),
        "Coverage of a level": table(frame[plain & levels & ~again]),
        "Coverage of the level of one run": table(frame[one], ("quantity", "method", "role")),
        "False positives": table(frame[plain & tests]),
        "Other cases": table(other, ("case", "quantity", "method", "truth")),
    }
