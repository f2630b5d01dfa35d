"""The whole walk from one row of a table or one claim, as text."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from tabulate import tabulate

from ict_core.config import BASE_VARIANT, Cell
from ict_core.errors import Damaged, UserError
from ict_core.evidence import Stored
from ict_core.jobs import lost
from ict_core.jobs.outputs import Stage, base_job, cell_jobs, study_jobs
from ict_core.statistics import AVERAGE, STATISTICS
from ict_core.store import CLAIMS as LEDGER
from ict_core.store import StudyFiles, read_manifest, records
from ict_core.tables import Origin
from ict_core.tools.explain._chain import Walk, base_of, question, samples, stored_walk, walk
from ict_core.tools.explain._numbers import (
    Checked,
    Entering,
    chosen_row,
    claims_of,
    entering,
    recomputed,
    table_of,
    trace,
)

_MADE = ("data", "collect", "study_settings", "statistics")
_CLAIMS = StudyFiles(Path()).claims.name
_MARKS = {True: "holds", False: "BROKEN", None: "not checked: the file is not here"}


def explain(table: Path, selection: str, problem: str | None = None, ledger: Path = LEDGER) -> tuple[str, bool]:
    """Where a row of a table, or a claim of the ledger, comes from.

    Args:
        table: ``results/STUDY/tables/NAME.csv`` or ``results/STUDY/claims.json``.
        selection: of the row, as :func:`chosen_row` takes it.
        problem: ``BENCHMARK/PROBLEM``, whose question, gold answer and completions are printed as well.

    Returns:
        The text, and whether the number follows from its runs and no link of their files is broken.

    Raises:
        Damaged: the study's own files are damaged or missing.
    """
    is_claim = table.name == _CLAIMS
    origin, rows = (claims_of if is_claim else table_of)(table)
    row = {str(key): str(value) for key, value in chosen_row(table, origin, rows, selection).items()}
    results = Path(os.path.normpath(table.parent / ("." if is_claim else "..")))
    if problem is not None and not problem.partition("/")[2]:
        raise UserError(f"--samples {problem}: allowed: BENCHMARK/PROBLEM")
    file = StudyFiles(results).frame("scores")
    if not file.exists() and (missing := lost(results, _stages(results, table, [])).get(file)):
        raise Damaged(missing, file)
    scores = records.read_frame(file, records.SCORES)
    if is_claim:
        origin, runs, numbers = trace(row, table, scores, ledger)
    else:
        averaged = Stored(results).averaged if "metric" in row else None
        runs = entering(origin, row, scores, averaged)
        numbers = recomputed(origin, row, runs)
    lines = [*_number(table, row), *_made(results, origin, row), *_runs(runs, numbers), *_question(results, problem)]
    walks = []
    cells = [Cell(arm.model, arm.variant, seed) for arm in runs for seed in arm.seeds]
    for cell in cells:
        counted = scores[(scores[list(Cell._fields)] == list(cell)).all(axis=1)].reset_index(drop=True)
        walks.append(_walk(results, cell, counted))
        lines += [*_run(cell, counted, row, walks[-1]), *_samples(results, cell, problem)]
    anew = lost(results, _stages(results, table, cells))
    lines += [f"  [{_MARKS[False]}] {fault}" for fault in anew.values() if not any(fault in line for line in lines)]
    sound = not anew and all(number.equal for number in numbers) and all(one.whole for one in walks)
    return "\n".join([*lines, "", _verdict(numbers, walks, anew)]) + "\n", sound


def _stages(results: Path, table: Path, cells: list[Cell]) -> Iterator[Stage]:
    """The jobs whose outputs a row is made from."""
    for stage in study_jobs(results):
        if stage.name in _MADE:
            yield stage
        elif table in stage.outputs:
            yield stage._replace(outputs=(table,))
    for cell in cells:
        yield base_job(results, base_of(results, cell))
        yield from cell_jobs(results, cell, cell.variant == BASE_VARIANT)


def _number(table: Path, row: Mapping[str, str]) -> Iterator[str]:
    yield f"The {'claim' if table.name == _CLAIMS else 'row'} of {table}"
    texts = [(key, value or "—") for key, value in row.items()]
    yield from (f"  {line}" for line in tabulate(texts, tablefmt="plain", disable_numparse=True).splitlines())
    yield ""


def _made(results: Path, origin: Origin, row: Mapping[str, str]) -> Iterator[str]:
    """The test, in words, and the rows of the statistics."""
    yield "What made it"
    yield f"  {origin.words}"
    yield f"  ict_core/{origin.module}; {origin.doc}"
    yield f"  from {results / origin.file}"
    frames = [origin.statistics] if origin.statistics and row.get("source") != "paper" else []
    if frames == ["levels"] and row.get("family"):  # it was compared, too
        frames.append("contrasts")
    for name in frames:
        file = StudyFiles(results).statistics(name)
        if not file.exists():
            yield f"  {file}: not here; the workflow makes it anew from scores.parquet"
            continue
        for values in _matching(records.read_frame(file, STATISTICS[name]), row).to_dict("records"):
            yield f"  {file}:"
            yield f"    {', '.join(f'{k} {v:.10g}' if isinstance(v, float) else f'{k} {v}' for k, v in values.items())}"
    yield ""


def _matching(frame: pd.DataFrame, row: Mapping[str, str]) -> pd.DataFrame:
    """The frame's rows of the same model, variant, ...; of a table without a benchmark those of the average."""
    wanted = {"benchmark": AVERAGE, **row}
    keys = [c for c in ("model", "benchmark", "metric", "view", "source") if c in frame.columns and wanted.get(c)]
    frame = frame[(frame[keys] == [wanted[key] for key in keys]).all(axis=1)]
    variant, other = row["variant"], row.get("baseline", row.get("reference"))
    if "baseline" not in frame.columns:
        return frame[frame["variant"] == variant]
    either = (frame["variant"] == variant) | (frame["baseline"] == variant)  # either way round
    if other and other != variant:
        either &= (frame["variant"] == other) | (frame["baseline"] == other)
    return frame[either]


def _runs(runs: Sequence[Entering], numbers: Sequence[Checked]) -> Iterator[str]:
    """The runs' values, and whether the printed numbers are what they give."""
    yield "The runs that enter" if runs else "No training run enters it."
    for arm in runs:
        values = "" if arm.values is None else ": " + ", ".join(f"{value:.10g}" for value in arm.values)
        yield f"  {arm.model}/{arm.variant}, seeds {', '.join(map(str, arm.seeds))}{values}"
    for number in numbers:
        yield f"  {number.name}, {number.done}, {number.said}"


def _walk(results: Path, cell: Cell, scores: pd.DataFrame) -> Walk:
    data = StudyFiles(results).eval_problems.parent
    if (results / cell.folder).is_dir() or data.is_dir():  # else a stored study, which has no cells
        return walk(results, cell, scores)
    manifest = StudyFiles(results).manifest
    return stored_walk(read_manifest(manifest), manifest, cell)


def _run(cell: Cell, scores: pd.DataFrame, row: Mapping[str, str], files: Walk) -> Iterator[str]:
    benchmark = row.get("benchmark", AVERAGE)
    counted = scores if benchmark == AVERAGE else scores[scores["benchmark"] == benchmark]
    yield ""
    yield (
        f"{cell.folder}: {len(counted)} problems, {counted['sampled'].sum()} samples, "
        f"{counted['correct'].sum()} correct, {counted['sampled'].sum() - counted['n'].sum()} not graded"
    )
    for file, text in files.steps:
        yield f"  {file}" if file else f"    {text}"
        if file:
            yield f"    {text}"
    for text, holds in files.links:
        yield f"  [{_MARKS[holds]}] {text}"


def _question(results: Path, problem: str | None) -> Iterator[str]:
    """What a problem asks and its gold answer."""
    if problem is None:
        return
    yield from ("", f"The problem {problem}")
    file = StudyFiles(results).eval_problems
    if not file.exists():
        yield f"  {file} is not here: neither question nor gold answer can be shown"
        return
    asked = question(file, problem)
    for name, text in (("question", asked["prompt"]), ("gold answer", asked["answer"])):
        yield f"  {name}:"
        yield from _quoted(text)


def _samples(results: Path, cell: Cell, problem: str | None) -> Iterator[str]:
    if problem is None:
        return
    if not (results / cell.folder).is_dir():
        yield f"  {problem}: the completions are not here"
        return
    for number, status, text in samples(results, cell, problem):
        yield f"  {problem}, sample {number}: {status}"
        yield from _quoted(text)


def _quoted(text: str) -> Iterator[str]:
    yield from (f"    | {line}" for line in text.splitlines() or [""])


def _verdict(numbers: Sequence[Checked], walks: Sequence[Walk], anew: Mapping[Path, str]) -> str:
    """What was checked with which outcome, what could not be, and the mend; `anew` is what snakemake makes again."""
    if not (walks or numbers or anew):
        return "nothing to check: no training run enters it"
    links = [holds for files in walks for _, holds in files.links]
    wrong = [number.name for number in numbers if not number.equal]
    faults = [f"the printed {', '.join(wrong)} {'do' if len(wrong) > 1 else 'does'} not follow"] if wrong else []
    if anew or False in links:
        unseen = "delete what is BROKEN, as snakemake sees no change in it, and run snakemake again"
        faults += ["a link is broken", "run snakemake again, which makes it anew" if anew else unseen]
    right = [number.name for number in numbers if number.equal]
    checked = [_count(len(walks), "run")]
    checked += [f"{', '.join(right)} as printed"] if right else []
    checked += [f"{_count(links.count(True), 'link')} {'holds' if links.count(True) == 1 else 'hold'}"]
    unknown = [] if numbers else ["the number itself, which this command does not compute"]
    absent = Counter(text for files in walks for text, holds in files.links if holds is None)
    unknown += [f"{text} (of {_count(count, 'run')}; not here)" for text, count in absent.items()]
    if faults:
        outcome = f"NOT SOUND: {'; '.join(faults)}"
    else:
        outcome = f"sound{' as far as it could be checked' if unknown else ''}: {', '.join(checked)}"
    return outcome + (f"; not checked: {'; '.join(unknown)}" if unknown else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
