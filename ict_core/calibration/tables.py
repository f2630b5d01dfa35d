"""The calibration as Markdown: the tables of docs/calibration.md, which `python scripts/reference.py` writes."""

from collections.abc import Sequence

import pandas as pd

from ict_core.calibration import ledger
from ict_core.calibration.measure import NEW, OTHER, PLAIN, PRIMARY, ROLES, SECOND, THESE, UNSAFE, UNTRAINED
from ict_core.markdown import markdown_table


def _cell(rows: pd.DataFrame, seeds: Sequence[int]) -> str:
    """Per cent at each number of seeds, bold where the method does not keep its word; a dash where not measured."""
    texts = {}
    for number, rate, verdict in zip(rows["seeds"], rows["rate"], rows["verdict"], strict=True):
        texts[number] = f"**{100 * rate:.1f}**" if verdict == "does not" else f"{100 * rate:.1f}"
    return " / ".join(texts.get(number, "-") for number in seeds) if texts else "-"


def table(frame: pd.DataFrame, columns: Sequence[str] = ("method", "truth", "role")) -> str:
    """A Markdown table with a column for each size, in whose cells stand per cent by rising seeds.

    The frame's `columns` tell its rows apart; they stand in the order of the frame.
    """
    keys, sizes = frame[list(columns)].drop_duplicates(), list(dict.fromkeys(frame["size"]))
    seeds = sorted(frame["seeds"].unique())
    lines = []
    for key in keys.itertuples(index=False):
        rows = frame[(frame[list(columns)] == list(key)).all(axis=1)]
        lines.append([*key, *(_cell(rows[rows["size"] == size], seeds) for size in sizes)])
    heads = [*columns, *sizes]
    return markdown_table(heads, lines, "-" * len(heads)).rstrip()


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


def _rates(frame: pd.DataFrame, question: str, columns: Sequence[tuple[str, str]]) -> str:
    """The answers to one question: a line a family, a column for each (arms, case), per cent by rising seeds."""
    frame = frame[frame["question"] == question]
    lines = []
    for family in dict.fromkeys(frame["family"]):
        cells = []
        for arms, case in columns:
            rows = frame[(frame["family"] == family) & (frame["arms"] == arms) & (frame["case"] == case)]
            cells.append(" / ".join(f"{100 * rate:.1f}" for rate in rows.sort_values("seeds")["rate"]) or "-")
        lines.append([family, *cells])
    heads = ["family", *(f"{case}, {arms}" for arms, case in columns)]
    return markdown_table(heads, lines, "-" * len(heads)).rstrip()


def ledger_tables(frame: pd.DataFrame) -> dict[str, str]:
    """The tables of the documentation by their captions, from a frame of `ledger.COLUMNS`."""
    cases: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
    for arms, case, points in frame[["arms", "case", "points"]].drop_duplicates().itertuples(index=False):
        cases[points > 0].append((arms, case))
    return {
        "Wrong findings": _rates(frame, ledger.WRONG, cases[False]),
        "True gains found": _rates(frame, ledger.RIGHT, cases[True]),
    }
