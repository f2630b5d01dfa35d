"""The whole walk from one row of a table, as text."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from ict_core import collect, records
from ict_core.columns import columns
from ict_core.config.study import BASE_VARIANT, Cell
from ict_core.damage import lost
from ict_core.errors import Damaged, UserError
from ict_core.explain.chain import Walk, samples, stored_walk, walk
from ict_core.explain.origins import Origin
from ict_core.explain.runs import Entering, agrees, entering, recomputed
from ict_core.explain.selection import chosen_row, table_of
from ict_core.outputs import Stage, of_base, of_cell, of_study
from ict_core.provenance import MANIFEST, read_manifest
from ict_core.statistics.names import AVERAGE
from ict_core.statistics.schemas import STATISTICS

_MADE = ("data", "collect", "study_settings", "statistics")
_MARKS = {True: "holds", False: "BROKEN", None: "not checked: the file is not here"}


def explain(table: Path, selection: str, problem: str | None = None) -> tuple[str, bool]:
    """Where a row of a table comes from.

    Args:
        table: ``results/STUDY/tables/NAME.csv``.
        selection: of the row, as :func:`chosen_row` takes it.
        problem: ``BENCHMARK/PROBLEM``, whose completions are printed as well.

    Returns:
        The text, and whether the number follows from its runs and no link of their files is broken.

    Raises:
        UserError: no such table, row or problem.
        Damaged: the study's own files are damaged or missing.
    """
    origin, rows = table_of(table)
    row = {str(key): str(value) for key, value in chosen_row(table, origin, rows, selection).items()}
    results = table.parent.parent
    if problem is not None and not problem.partition("/")[2]:
        raise UserError(f"--samples {problem}: allowed: BENCHMARK/PROBLEM")
    lines = [*_number(table, origin, row), *_made(results, table, origin, row)]
    file = results / collect.SCORES
    if not file.exists() and (missing := lost(results, _stages(results, table, [])).get(file)):
        raise Damaged(missing, file)
    scores = records.read_frame(file, records.SCORES)
    found = entering(origin, row, scores)
    follows, text = _runs(origin, row, found)
    lines += text
    whole = True
    cells = [Cell(runs.model, runs.variant, seed) for runs in found for seed in runs.seeds]
    for cell in cells:
        of_cell = scores[(scores[list(Cell._fields)] == list(cell)).all(axis=1)].reset_index(drop=True)
        of_run = _walk(results, cell, of_cell)
        whole &= of_run.whole
        lines += [*_run(cell, of_cell, row, of_run), *_samples(results, cell, problem)]
    anew = lost(results, _stages(results, table, cells))
    lines += [f"  [{_MARKS[False]}] {fault}" for fault in anew.values() if not any(fault in line for line in lines)]
    whole &= not anew
    lines += ["", _verdict(found, anew, follows=follows, whole=whole)]
    return "\n".join(lines) + "\n", follows and whole


def _stages(results: Path, table: Path, cells: list[Cell]) -> Iterator[Stage]:
    """The jobs whose outputs a row is made from."""
    for stage in of_study(results):
        if stage.name in _MADE:
            yield stage
        elif table in stage.outputs:
            yield stage._replace(outputs=(table,))
    for cell in cells:
        yield of_base(results, cell.model)
        yield from of_cell(results, cell, cell.variant == BASE_VARIANT)


def _number(table: Path, origin: Origin, row: Mapping[str, str]) -> Iterator[str]:
    yield f"The row of {table}"
    yield from columns([(key, value or "—") for key, value in row.items()], "  ").splitlines()
    yield ""


def _made(results: Path, table: Path, origin: Origin, row: Mapping[str, str]) -> Iterator[str]:
    """The test, in words, and the rows of the statistics."""
    yield "What made it"
    yield f"  {origin.made}"
    yield f"  ict_core/{origin.module}; {origin.doc}"
    yield f"  from {results / origin.source}"
    for name in _frames(origin, row):
        file = results / "statistics" / f"{name}.parquet"
        if not file.exists():
            yield f"  {file}: not here; the workflow makes it anew from scores.parquet"
            continue
        frame = records.read_frame(file, STATISTICS[name])
        for values in _matching(frame, row).to_dict("records"):
            yield f"  {file}:"
            yield f"    {', '.join(f'{k} {v:.10g}' if isinstance(v, float) else f'{k} {v}' for k, v in values.items())}"
    yield ""


def _frames(origin: Origin, row: Mapping[str, str]) -> list[str]:
    """The statistics' frames whose rows enter."""
    if origin.statistics is None or row.get("source") == "paper":
        return []
    return [origin.statistics, *(["contrasts"] if row.get("family") and origin.statistics == "levels" else [])]


def _matching(frame: pd.DataFrame, row: Mapping[str, str]) -> pd.DataFrame:
    """The frame's rows of the same model, variant, ...; of a table without a benchmark those of the average."""
    wanted = {"benchmark": AVERAGE, **row}
    if "baseline" in frame.columns and "baseline" not in row and "reference" in row:  # either way round
        wanted["baseline"] = row["reference"]
    keys = [c for c in ("model", "benchmark", "metric", "view", "source") if c in frame.columns and wanted.get(c)]
    found = frame[(frame[keys] == [wanted[key] for key in keys]).all(axis=1)]
    arms = {wanted[c] for c in ("variant", "baseline") if wanted.get(c)}
    if "baseline" not in frame.columns:
        return found[found["variant"] == row["variant"]]
    if len(arms) > 1:
        return found[[{v, b} == arms for v, b in zip(found["variant"], found["baseline"], strict=True)]]
    return found[(found["variant"] == row["variant"]) | (found["baseline"] == row["variant"])]


def _runs(origin: Origin, row: Mapping[str, str], found: list[Entering]) -> tuple[bool, list[str]]:
    """The runs' values, and whether the printed number is what they give."""
    if not found:
        return True, ["No training run enters it."]
    lines = ["The runs that enter"]
    for runs in found:
        values = "" if runs.values is None else ": " + ", ".join(f"{value:.10g}" for value in runs.values)
        lines.append(f"  {runs.model}/{runs.variant}, seeds {', '.join(map(str, runs.seeds))}{values}")
    follows = True
    for column, value in recomputed(origin, row, found).items():
        equal = agrees(row[column], value)
        follows &= equal
        said = "as printed" if equal else f"NOT the printed {row[column] or '—'}"
        lines.append(f"  {column}, recomputed from {collect.SCORES}: {value:.10g}, {said}")
    return follows, lines


def _walk(results: Path, cell: Cell, scores: pd.DataFrame) -> Walk:
    if (results / cell.folder).is_dir() or (results / "data").is_dir():  # else a stored study, which has no cells
        return walk(results, cell, scores)
    return stored_walk(read_manifest(results / MANIFEST), results / MANIFEST, cell)


def _run(cell: Cell, scores: pd.DataFrame, row: Mapping[str, str], of_run: Walk) -> Iterator[str]:
    benchmark = row.get("benchmark", AVERAGE)
    counted = scores if benchmark == AVERAGE else scores[scores["benchmark"] == benchmark]
    yield ""
    yield (
        f"{cell.folder}: {len(counted)} problems, {counted['sampled'].sum()} samples, "
        f"{counted['correct'].sum()} correct, {counted['sampled'].sum() - counted['n'].sum()} not graded"
    )
    for file, text in of_run.steps:
        yield f"  {file}" if file else f"    {text}"
        if file:
            yield f"    {text}"
    for text, holds in of_run.links:
        yield f"  [{_MARKS[holds]}] {text}"


def _samples(results: Path, cell: Cell, problem: str | None) -> Iterator[str]:
    if problem is None:
        return
    benchmark, _, name = problem.partition("/")
    for number, status, text in samples(results, cell, benchmark, name):
        yield f"  {problem}, sample {number}: {status}"
        yield from (f"    | {line}" for line in text.splitlines() or [""])


def _verdict(found: list[Entering], anew: Mapping[Path, str], *, follows: bool, whole: bool) -> str:
    runs = sum(len(of_variant.seeds) for of_variant in found)
    faults = [] if follows else ["the printed number does not follow from its runs"]
    faults += [] if whole else ["a link is broken"]
    if not faults:
        return f"sound: {runs} runs, no link is broken"
    unseen = "delete what is BROKEN, as snakemake sees no change in it, and run snakemake again"
    mend = [] if whole else ["run snakemake again, which makes it anew" if anew else unseen]
    return f"NOT SOUND: {'; '.join([*faults, *mend])}"
