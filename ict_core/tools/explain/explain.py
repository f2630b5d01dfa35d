"""The whole walk from one row of a table or one claim, as text."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from ict_core.config.mistakes import shown
from ict_core.config.study_file import Cell
from ict_core.errors import UserError, visible
from ict_core.evidence.run_faults import run_faults
from ict_core.evidence.stored import Stored
from ict_core.statistics.schemas import AVERAGE
from ict_core.store import records
from ict_core.store.layout import CLAIMS as LEDGER
from ict_core.store.layout import StoredCellFiles, StudyFiles, cells_folder
from ict_core.store.manifests import read_manifest
from ict_core.tables.registry import Origin
from ict_core.tools.explain.numbers import (
    Checked,
    Entering,
    chosen_row,
    claims_of,
    entering,
    recomputed,
    table_of,
    trace,
)
from ict_core.tools.place import Place
from ict_core.tools.walk import Link, Step, base_of, short, stored_walk, walk

_CLAIMS = StudyFiles(Path()).claims.name
_MARKS = {True: "holds", False: "BROKEN", None: "not checked: the file is not here"}


def explain(table: Path, selection: str, problem: str | None = None, ledger: Path = LEDGER) -> tuple[str, bool]:
    """Where a row of a table, or a claim of the ledger, comes from.

    `table` is ``results/STUDY/tables/NAME.csv`` or ``results/STUDY/claims.json``, also of ``results/rebuilt``.
    `selection` is what :func:`chosen_row` takes. For a `problem`, ``BENCHMARK/PROBLEM``, the text includes question,
    gold answer and completions. Returns the text, and whether the number follows from its runs and no link between
    their files is broken.

    Raises:
        Damaged: the study's own files are damaged.
    """
    is_claim = table.name == _CLAIMS
    origin, rows = (claims_of if is_claim else table_of)(table)
    row = {str(key): str(value) for key, value in chosen_row(table, origin, rows, selection).items()}
    lines = [f"The {'claim' if is_claim else 'row'} of {table}"]
    lines += [f"  {key}: {value or '—'}" for key, value in row.items()]
    absolute = Path(os.path.abspath(table.parent / ("." if is_claim else "..")))  # noqa: PTH100 - links keep their names
    here = Path(shown(absolute))
    results = here if len(here.parts) > 1 else absolute  # `parent` of a lone name has no name
    if results.parent.name == "rebuilt":  # by `make figures`, from the stored run's measurements
        results = results.parent.with_name("reference") / results.name
    if problem is not None and not problem.partition("/")[2]:
        raise UserError(f"--samples {problem}: allowed: BENCHMARK/PROBLEM")
    scores = records.read_frame(StudyFiles(results).frame("scores"), records.SCORES)
    if is_claim:
        origin, runs, numbers = trace(row, results / _CLAIMS, scores, ledger)
    else:
        averaged = Stored(results).averaged if "metric" in row else None
        if table.stem == "paper":  # in which a benchmark of the study has the name of the paper's
            stand_ins = {place: name for name, place in reversed(Stored(results).settings.mirrors.items())}
            row["benchmark"] = stand_ins.get(row["benchmark"], row["benchmark"])
        runs = entering(origin, row, scores, averaged)
        numbers = recomputed(origin, row, runs)
    lines += ["", *_made(results, origin), "", *_entering(runs, numbers), *_question(results, problem)]
    links: list[Link] = []
    log = StudyFiles(results).frame("log")
    faults = run_faults(records.read_frame(log, records.STUDY_LOG)) if log.exists() else pd.DataFrame()
    cells = [Cell(arm.model, arm.variant, seed) for arm in runs for seed in arm.seeds]
    for cell in cells:
        counted = scores[(scores[list(Cell._fields)] == list(cell)).all(axis=1)].reset_index(drop=True)
        steps = _steps(results, cell, counted)
        links += [link for step in steps for link in step.links]
        benchmark = row.get("benchmark", AVERAGE)
        counted = counted if benchmark == AVERAGE else counted[counted["benchmark"] == benchmark]
        went_wrong = faults[(faults[list(Cell._fields)] == list(cell)).all(axis=1)] if len(faults) else faults
        lines += [*_run(cell, counted, went_wrong, steps), *_samples(results, cell, problem)]
    sound = all(number.equal for number in numbers) and all(link.holds is not False for link in links)
    return "\n".join([*lines, "", _verdict(len(cells), numbers, links)]) + "\n", sound


def _made(results: Path, origin: Origin) -> Iterator[str]:
    """The test, in words, and the files that it reads and writes."""
    yield "What made it"
    yield f"  {origin.words}"
    yield f"  ict_core/{origin.module}; {origin.doc}"
    yield f"  from {results / origin.file}"
    if origin.statistics:
        yield f"  by {StudyFiles(results).statistics(origin.statistics)}"


def _entering(runs: Sequence[Entering], numbers: Sequence[Checked]) -> Iterator[str]:
    """The runs' values, and whether the printed numbers follow from them."""
    yield "The runs that enter" if runs else "No training run enters it."
    for arm in runs:
        values = "" if arm.values is None else ": " + ", ".join(f"{value:.10g}" for value in arm.values)
        yield f"  {arm.model}/{arm.variant}, seeds {', '.join(map(str, arm.seeds))}{values}"
    for number in numbers:
        yield f"  {number.name}, {number.done}, {number.said}"


def _steps(results: Path, cell: Cell, scores: pd.DataFrame) -> list[Step]:
    files = StudyFiles(results)
    here = (results / cell.folder).is_dir() or files.eval_problems.parent.is_dir()  # else a stored study, without cells
    apart = StoredCellFiles(results.parent.parent / cells_folder(results.name) / cell.folder).manifest.exists()
    if here and (files.cell(cell.folder).grades.exists() or not apart):
        return walk(Place(results, cell, base_of(results, cell).seed), scores)
    return stored_walk(read_manifest(files.manifest), files.manifest, cell)


def _run(cell: Cell, counted: pd.DataFrame, faults: pd.DataFrame, steps: Sequence[Step]) -> Iterator[str]:
    yield ""
    yield (
        f"{cell.folder}: {len(counted)} problems, {counted['sampled'].sum()} samples, "
        f"{counted['correct'].sum()} correct, {counted['sampled'].sum() - counted['n'].sum()} not graded"
    )
    for *_, fault, value, first in faults.itertuples(index=False):
        yield f"  went wrong, by a rule of thumb: {fault} {value:.3g} at the end, from step {first}"
    for step in steps:
        yield f"  {step.where}"
        yield from (f"    {fact}" for fact in step.facts)
        yield from (f"    [{_MARKS[link.holds]}] {link.what}" for link in step.links)


def _question(results: Path, problem: str | None) -> Iterator[str]:
    """The question of a problem and its gold answer."""
    if problem is None:
        return
    yield from ("", f"The problem {problem}")
    file = StudyFiles(results).eval_problems
    if not file.exists():
        yield f"  {file} is not here: neither question nor gold answer can be shown"
        return
    row = _rows(records.read_frame(file, records.PROBLEMS), problem, file).iloc[0]
    for name, text in (("question", row["prompt"]), ("gold answer", row["answer"])):
        yield from (f"  {name}:", *_quoted(text))


def _samples(results: Path, cell: Cell, problem: str | None) -> Iterator[str]:
    """A run's completions of a problem, with their verdicts."""
    if problem is None:
        return
    files = StudyFiles(results).cell(cell.folder)
    if not files.grades.exists():
        yield f"  {problem}: the completions are not here"
        return
    grades = records.read_frame(files.grades, records.GRADES)[["benchmark", "problem", "sample", "status"]]
    texts = records.read_frame(files.completions, records.COMPLETIONS).merge(grades)
    for _, sample in _rows(texts, problem, files.folder).sort_values("sample").iterrows():
        yield from (f"  {problem}, sample {sample['sample']}: {sample['status']}", *_quoted(sample["text"]))


def _rows(frame: pd.DataFrame, problem: str, where: Path) -> pd.DataFrame:
    """A problem's rows; if there are none, an error that names other problems."""
    names = frame["benchmark"] + "/" + frame["problem"]
    if not (names == problem).any():
        others = names[frame["benchmark"] == problem.partition("/")[0]]
        allowed = ", ".join((others if len(others) else names).drop_duplicates().head(5))
        raise UserError(f"--samples {problem}: {short(where)} has no such problem; allowed: {allowed}, ...")
    return frame[names == problem]


def _quoted(text: str) -> Iterator[str]:
    yield from (f"    | {visible(line)}" for line in text.splitlines() or [""])


def _verdict(runs: int, numbers: Sequence[Checked], links: Sequence[Link]) -> str:
    """What was checked and the outcome, what could not be checked, and what to do."""
    if not (links or numbers):
        return "nothing to check: no training run enters it"
    right, wrong = ([n.name for n in numbers if n.equal is equal] for equal in (True, False))
    broken = sum(link.holds is False for link in links)
    absent = Counter(link.what for link in links if link.holds is None)
    unknown = [] if numbers else ["the number itself, which this command does not compute"]
    unknown += [f"{what} (of {count} runs; not here)" for what, count in absent.items()]
    if wrong or broken:
        faults = [f"printed values that do not follow: {', '.join(wrong)}"] if wrong else []
        faults += [f"{broken} broken links: delete what is BROKEN and run snakemake again"] if broken else []
        outcome = f"NOT SOUND: {'; '.join(faults)}"
    else:
        checked = [f"{runs} runs", *([f"{', '.join(right)} as printed"] if right else [])]
        checked.append(f"{sum(link.holds is True for link in links)} links hold")
        outcome = f"sound{' as far as it could be checked' if unknown else ''}: {', '.join(checked)}"
    return outcome + (f"; not checked: {'; '.join(unknown)}" if unknown else "")
