"""Checks of a study's scores against its design: every cell, benchmark and problem once, every sample accounted for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ict_core.errors import UserError
from ict_core.statistics.pairing import place_of
from ict_core.statistics.schemas import BASE, CELL
from ict_core.store.layout import base_number, cell_folder
from ict_core.store.records import STATUSES, STATUSES_GRADED


@dataclass(frozen=True)
class Design:
    """What a study should measure."""

    cells: tuple[tuple[str, str, int], ...]  # (model, variant, seed) of every run that answers the benchmarks
    problems: Mapping[str, int]  # how many, by benchmark
    samples: Mapping[str, int]  # how many of each problem, by benchmark

    @classmethod
    def of(cls, study: Mapping[str, Any]) -> "Design":
        """The design in the content of `study.json`: the base models and every cell of the grid.

        Content of another shape raises KeyError, TypeError, ValueError or AttributeError.
        """
        blocks = [(block["models"], block["methods"], block["seeds"]) for block in study["grid"]]
        trained = [(m, v, int(s)) for models, methods, seeds in blocks for m in models for v in methods for s in seeds]
        kinds = {name: model["kind"] for name, model in study["models"].items()}
        order = list(dict.fromkeys(model for model, _, _ in trained))
        bases = {(model, BASE, base_number(seed, kinds[model])) for model, _, seed in trained}
        base = sorted(bases, key=lambda cell: (order.index(cell[0]), cell[2]))
        problems = {benchmark["name"]: int(benchmark["problems"]) for benchmark in study["benchmarks"]}
        evaluation = study["evaluation"]
        samples = {name: int((evaluation["samples_of"] or {}).get(name, evaluation["samples"])) for name in problems}
        return cls((*base, *trained), problems, samples)


def check_scores(scores: pd.DataFrame, design: Design, file: Path) -> None:
    """Check scores, a frame of `records.SCORES` from a file, against the design of their study.

    A UserError names the file, the first fault (a cell, benchmark or problem that is missing, unknown or there twice,
    or an impossible count) and what is allowed. A sample that could not be graded is no fault: it counts in `sampled`.
    """
    fault = next((fault for faults in (_cells, _problems, _counts) for fault in faults(scores, design)), None)
    if fault:
        raise UserError(f"{file}: {fault}; collect the study again, or mend the stage that made it")


def _cells(scores: pd.DataFrame, design: Design) -> Iterator[str]:
    scored = dict.fromkeys(scores[CELL].drop_duplicates().itertuples(index=False, name=None))
    for cells, others, fault in (
        (design.cells, scored, "no row of {}; allowed: every cell of study.json"),
        (scored, design.cells, "{} is no cell of study.json; allowed: its base models and its grid"),
    ):
        if odd := [cell_folder(*cell) for cell in cells if cell not in others]:
            yield fault.format(", ".join(odd[:3]) + (f" and {len(odd) - 3} more" if len(odd) > 3 else ""))


def _problems(scores: pd.DataFrame, design: Design) -> Iterator[str]:
    """Unknown benchmarks, and cells without the stated number of problems, each once and the same in all cells."""
    for benchmark in scores["benchmark"].unique():
        if benchmark not in design.problems:
            yield f"benchmark {benchmark!r} is not study.json's; allowed: {', '.join(design.problems)}"
    for benchmark, declared in design.problems.items():
        rows = scores[scores["benchmark"] == benchmark]
        counts = rows.groupby([*CELL, "problem"]).size().unstack("problem").reindex(list(design.cells))
        for cell, problems in zip(design.cells, counts.to_numpy(), strict=True):
            names = [str(name) for name, count in zip(counts, problems, strict=True) if count != 1]
            if names or counts.shape[1] != declared:
                wrong = f"problem {', '.join(names[:3])} is not there once" if names else f"{counts.shape[1]} problems"
                yield f"{cell_folder(*cell)}: {wrong} of {benchmark}; allowed: the {declared} of study.json"


def _counts(scores: pd.DataFrame, design: Design) -> Iterator[str]:
    """The first row with each kind of impossible count."""
    rows = scores.assign(
        least=scores[["sampled", "n", *STATUSES, "truncated", "tokens"]].min(axis=1),
        wanted=scores["benchmark"].map(design.samples),
        told=scores[list(STATUSES)].sum(axis=1),
        graded=scores[list(STATUSES_GRADED)].sum(axis=1),
    )
    for condition, fault in (
        ("least < 0", "a count is {least}; allowed: at least 0"),
        ("sampled != wanted", "sampled is {sampled}; allowed: {wanted}, as in study.json"),
        ("told != sampled", "the statuses count {told}; allowed: {sampled}, the samples drawn"),
        ("graded != n", "n is {n}; allowed: {graded}, the samples graded"),
        ("truncated > sampled", "truncated is {truncated}; allowed: at most {sampled}"),
    ):
        for _, row in rows.query(condition)[:1].iterrows():
            yield f"{place_of(row)}: {fault.format(**row)}"
