"""From the frame of scores to arrays of (seeds, problems), with every cell and problem in its place."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ict_core.errors import UserError
from ict_core.statistics.names import CELL
from ict_core.store.layout import cell_folder

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Counts:
    """What a model's runs under one variant got right on one benchmark.

    Attributes:
        seeds: of the runs, ascending.
        problems: names, in the order in which the scores first show them; the same for every variant of the model.
        n: samples graded, shape (seeds, problems).
        correct: samples correct, shape (seeds, problems).
    """

    seeds: tuple[int, ...]
    problems: tuple[str, ...]
    n: Integers
    correct: Integers


@dataclass(frozen=True)
class _Codes:
    """Rows of scores as numbers: `cell` and `item` (a problem of a benchmark) of each row, and what they stand for."""

    cell: Integers
    item: Integers
    cells: pd.DataFrame  # columns CELL, in order of appearance, seeds ascending within a variant
    items: pd.DataFrame  # columns benchmark, problem, in order of appearance, benchmarks together


def cell_name(row: pd.Series) -> str:
    """model/variant/seed-n of a row that has these columns."""
    return cell_folder(row["model"], row["variant"], row["seed"])


def _grouped(frame: pd.DataFrame, by_value: frozenset[str] = frozenset()) -> tuple[Integers, pd.DataFrame]:
    """The number of each row's combination of values, and the distinct combinations in the order of their numbers.

    Combinations are in lexical order of the columns, values of a column in order of appearance, or ascending where the
    column is in `by_value`.
    """
    number = np.zeros(len(frame), dtype=np.int64)
    for name in frame.columns:
        codes, uniques = pd.factorize(frame[name], sort=name in by_value)
        number = number * len(uniques) + codes
    _, first, codes = np.unique(number, return_index=True, return_inverse=True)
    return codes.astype(np.int64), frame.iloc[first].reset_index(drop=True)


def _encode(scores: pd.DataFrame) -> _Codes:
    cell, cells = _grouped(scores[CELL], frozenset({"seed"}))
    item, items = _grouped(scores[["benchmark", "problem"]])
    return _Codes(cell, item, cells, items)


def _check_once(codes: _Codes, times: Integers) -> None:
    if times.max() <= 1:
        return
    row = int(np.argmax(times[codes.cell, codes.item] > 1))
    cell, item = codes.cells.iloc[codes.cell[row]], codes.items.iloc[codes.item[row]]
    raise UserError(f"scores: {cell_name(cell)} has problem {item['problem']} of {item['benchmark']} more than once")


def _check_complete(codes: _Codes, present: NDArray[np.bool_], cells: Integers) -> None:
    """Every cell of one model (`cells`, positions) has every problem that another cell of the model has."""
    lacks = present[cells].any(axis=0) & ~present[cells]
    if not lacks.any():
        return
    first = int(lacks.any(axis=1).argmax())
    absent = codes.items[lacks[first]]
    named = [
        f"{problem} of {benchmark}" for benchmark, problem in zip(absent["benchmark"], absent["problem"], strict=True)
    ]
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    raise UserError(
        f"scores: {cell_name(codes.cells.iloc[cells[first]])} lacks problem {', '.join(named[:3])}{more}, "
        "which other cells of its model have; evaluate it again"
    )


def count_matrices(scores: pd.DataFrame) -> dict[tuple[str, str, str], Counts]:
    """The counts of every (model, variant, benchmark), keys in the order in which the scores first show the values.

    Args:
        scores: a frame of `records.SCORES`, rows in any order.

    Raises:
        UserError: no rows, a cell that lacks a problem that another cell of its model has (named), or has one twice.
    """
    if scores.empty:
        raise UserError("scores: no rows; evaluate at least one cell")
    codes = _encode(scores)
    shape = (len(codes.cells), len(codes.items))
    times = np.bincount(codes.cell * shape[1] + codes.item, minlength=shape[0] * shape[1]).reshape(shape)
    _check_once(codes, times)
    n, correct = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for table, column in ((n, "n"), (correct, "correct")):
        table[codes.cell, codes.item] = scores[column].to_numpy(np.int64)
    benchmarks, problems = codes.items["benchmark"].to_numpy(), codes.items["problem"].to_numpy()
    found = {}
    for model, of_model in codes.cells.groupby("model", sort=False):
        cells = of_model.index.to_numpy()
        _check_complete(codes, times > 0, cells)
        has = times[cells[0]] > 0
        columns = {b: np.flatnonzero(has & (benchmarks == b)) for b in dict.fromkeys(benchmarks[has])}
        names = {b: tuple(problems[c]) for b, c in columns.items()}
        for variant, of_variant in of_model.groupby("variant", sort=False):
            rows, seeds = of_variant.index.to_numpy(), tuple(int(s) for s in of_variant["seed"])
            for b, c in columns.items():
                where = np.ix_(rows, c)
                found[str(model), str(variant), str(b)] = Counts(seeds, names[b], n[where], correct[where])
    return found
