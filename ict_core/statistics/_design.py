"""A study's scores held against its design: every cell, benchmark and problem once, with every sample accounted for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from ict_core.errors import UserError
from ict_core.statistics._pairing import cell_name
from ict_core.statistics._schemas import BASE, CELL
from ict_core.store import base_number, cell_folder
from ict_core.store.records import STATUSES, STATUSES_GRADED

_OF_PROBLEM = [*CELL, "benchmark", "problem"]


@dataclass(frozen=True)
class Design:
    """What a study was to measure."""

    cells: tuple[tuple[str, str, int], ...]  # (model, variant, seed) of every run that answers the benchmarks
    problems: Mapping[str, int]  # of each benchmark, how many
    samples: Mapping[str, int]  # of each benchmark, how many of each problem

    @classmethod
    def of(cls, study: Mapping[str, Any]) -> "Design":
        """From the content of `study.json`: the base models and every cell of the grid.

        Content of another shape raises KeyError, TypeError, ValueError or AttributeError.
        """
        blocks = [(block["models"], block["methods"], block["seeds"]) for block in study["grid"]]
        trained = [(m, v, int(s)) for models, methods, seeds in blocks for m in models for v in methods for s in seeds]
        per_base = study.get("seeds_per_base")
        order = list(dict.fromkeys(model for model, _, _ in trained))
        bases = {(model, BASE, base_number(seed, per_base)) for model, _, seed in trained}
        base = sorted(bases, key=lambda cell: (order.index(cell[0]), cell[2]))
        problems = {benchmark["name"]: int(benchmark["problems"]) for benchmark in study["benchmarks"]}
        evaluation = study["evaluation"]
        samples = {name: int((evaluation["samples_of"] or {}).get(name, evaluation["samples"])) for name in problems}
        return cls((*base, *trained), problems, samples)


def check_scores(scores: pd.DataFrame, design: Design, file: Path) -> None:
    """Hold scores, a frame of `records.SCORES` from a file, against the design of their study.

    A UserError names the file, the first cell, benchmark or problem that is missing, unknown or there twice, or count
    that is impossible, and what is allowed. A sample that could not be graded is no fault: it counts in `sampled`.
    """
    _check_cells(scores, design, file)
    _check_problems(scores, design, file)
    for faulty, describe in _faults(scores, design):
        if faulty.any():
            row = scores[faulty].iloc[0]
            more = f" ({int(faulty.sum())} such rows)" if faulty.sum() > 1 else ""
            _refuse(file, f"{cell_name(row)}, problem {row['problem']} of {row['benchmark']}: {describe(row)}{more}")


def _refuse(file: Path, fault: str) -> NoReturn:
    raise UserError(f"{file}: {fault}; collect the study again, or mend the stage that made it")


def _check_cells(scores: pd.DataFrame, design: Design, file: Path) -> None:
    ran = dict.fromkeys(scores[CELL].drop_duplicates().itertuples(index=False, name=None))
    for cells, others, fault in (
        (design.cells, ran, "no row of {}; allowed: every cell of study.json"),
        (ran, design.cells, "{} is no cell of study.json; allowed: its base models and its grid"),
    ):
        odd = [cell_folder(*cell) for cell in cells if cell not in others]
        if odd:
            more = f" and {len(odd) - 3} more" if len(odd) > 3 else ""
            _refuse(file, fault.format(", ".join(odd[:3]) + more))


def _check_problems(scores: pd.DataFrame, design: Design, file: Path) -> None:
    """Each cell has each benchmark's problems once, the same as every other cell."""
    unknown = scores[~scores["benchmark"].isin(design.problems)]
    if len(unknown):
        row, allowed = unknown.iloc[0], ", ".join(design.problems)
        _refuse(file, f"{cell_name(row)}: benchmark {row['benchmark']!r} is not study.json's; allowed: {allowed}")
    twice = scores[scores.duplicated(_OF_PROBLEM)]
    if len(twice):
        row = twice.iloc[0]
        _refuse(file, f"{cell_name(row)}: problem {row['problem']} of {row['benchmark']} is there more than once")
    sizes = scores.groupby([*CELL, "benchmark"], sort=False).size()
    for benchmark, declared in design.problems.items():
        rows = scores[scores["benchmark"] == benchmark]
        problems_here = rows["problem"].unique()
        for cell in design.cells:
            size = int(sizes.get((*cell, benchmark), 0))
            if size == declared == len(problems_here):
                continue
            found = set(rows[(rows[CELL] == list(cell)).all(axis=1)]["problem"])
            allowed = f"the {declared} of study.json, the same in every cell"
            lacks = ", ".join([name for name in problems_here if name not in found][:3])
            text = f"{size} problems of {benchmark}" + (f", without problem {lacks}" if lacks else "")
            text += f", where all cells together have {len(problems_here)}" if size == declared else ""
            _refuse(file, f"{cell_folder(*cell)}: {text}; allowed: {allowed}")


def _faults(scores: pd.DataFrame, design: Design) -> Iterator[tuple[pd.Series, Callable[[pd.Series], str]]]:
    """For each rule, the rows that break it and what to say of one."""
    counts = ("sampled", "n", *STATUSES, "truncated", "tokens")
    yield (
        (scores[list(counts)] < 0).any(axis=1),
        lambda row: next(f"{name} is {row[name]}; allowed: at least 0" for name in counts if row[name] < 0),
    )
    wanted = scores["benchmark"].map(design.samples)
    yield (
        scores["sampled"] != wanted,
        lambda row: f"sampled is {row['sampled']}; allowed: {design.samples[row['benchmark']]}, as in study.json",
    )
    yield (
        scores[list(STATUSES)].sum(axis=1) != scores["sampled"],
        lambda row: f"{_sum(row, STATUSES)}; allowed: {row['sampled']}, the samples drawn",
    )
    yield (
        scores[list(STATUSES_GRADED)].sum(axis=1) != scores["n"],
        lambda row: f"n is {row['n']}; allowed: the graded samples, {_sum(row, STATUSES_GRADED)}",
    )
    yield (
        scores["truncated"] > scores["sampled"],
        lambda row: f"truncated is {row['truncated']}; allowed: at most {row['sampled']}, the samples drawn",
    )


def _sum(row: pd.Series, statuses: Sequence[str]) -> str:
    return f"{' + '.join(f'{name} {row[name]}' for name in statuses)} = {sum(row[name] for name in statuses)}"
