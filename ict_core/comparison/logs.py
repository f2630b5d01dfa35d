"""Answers from the logs of other harnesses and from plain tables.

lm-evaluation-harness (`--log_samples`), lighteval (`--save-details`) and Inspect write one file for each task of a run.
Their files are read as data: nothing of these packages is imported, and nothing in a file is run.
"""

import json
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ict_core.errors import UserError

TABLES = (".csv", ".parquet")
_HARNESS = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl")
_LIGHTEVAL = re.compile(r"details_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d.-]+)\.parquet")
_BEGIN_OF_INSPECT = re.compile(rb'\s*\{\s*"version":\s*\d+,\s*"status":')
_INSPECT = {"C": 1, "I": 0, "N": 0, True: 1, False: 0}  # correct, incorrect, no answer
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)  # what reading a damaged archive raises
_ZSTANDARD = 93  # the number of this method in the ZIP format (APPNOTE 6.3.7)
_KINDS = (
    "samples_*.jsonl of lm-evaluation-harness, details_*.parquet of lighteval, *.eval or *.json of Inspect, or a table"
)


@dataclass(frozen=True)
class Wanted:
    """What to read where a log has several metrics, filters or fields."""

    metric: str | None = None  # a score of 0 or 1
    filter: str | None = None  # a filter of lm-evaluation-harness, such as `strict-match`
    cluster: str | None = None  # a field of the problem, or a table's column, that names its cluster


_Reader = Callable[[Path, Wanted], Iterable[dict[str, Any]]]


def read_runs(runs: Sequence[str], wanted: Wanted) -> pd.DataFrame:
    """The samples of all runs, with the columns that `compare` takes.

    Args:
        runs: paths of files, or of folders with files of one harness at any depth; or NAME=PATH, which names the
            model. Logs of one model at different times are its runs, numbered by time.

    Raises:
        UserError: a path has no such file, a file is given twice or has another format, a score is not 0 or 1, or no
            log has the wanted metric or filter.
    """
    rows: list[dict[str, Any]] = []
    tables: list[pd.DataFrame] = []
    given: set[tuple[str, Path]] = set()  # the name and the file of each log
    for run in runs:
        name, path = ("", run) if Path(run).exists() or "=" not in run else run.split("=", 1)
        models: set[str] = set()
        for file, read in _files(Path(path)):
            if (name, file.resolve()) in given:
                raise UserError(f"{file}: given twice, so that its answers would count twice; allowed: each file once")
            given.add((name, file.resolve()))
            if read is None:
                table = _read_table(file, wanted)
                models |= set(map(str, table.get("model", ())))
                tables.append(table.assign(model=name) if name else table)
            else:
                found = list(read(file, wanted))
                if not found:
                    raise UserError(f"{file}: no samples; allowed: at least one")
                models |= {row["model"] for row in found}
                rows += [row | {"model": name or row["model"]} for row in found]
        if name and len(models) > 1:
            raise UserError(f"{run}: {', '.join(sorted(models))} are several models; allowed: NAME= before one model's")
    if tables and rows:
        raise UserError(f"{' '.join(runs)}: logs and tables together; allowed: logs, or tables")
    _check_names(rows, wanted)
    if tables:
        return pd.concat(tables, ignore_index=True)
    frame = pd.DataFrame(rows)
    _check_same(frame)
    number = frame.groupby(["model", "benchmark"])["time"].rank(method="dense").astype(int) - 1  # by task
    return frame.assign(run=number).drop(columns=["time", "metric", "filter", "hash"])


def _check_same(frame: pd.DataFrame) -> None:
    """Raise a UserError for a number that stands for different problems, by the harness's own hashes of them."""
    known = frame.dropna(subset="hash").astype({"hash": str}).drop_duplicates(["benchmark", "problem", "hash"])
    if (other := known.duplicated(["benchmark", "problem"])).any():
        row = known[other].iloc[0]
        fault = f"problem {row['problem']} of {row['benchmark']} is another one in a log of {row['model']}"
        raise UserError(f"{fault}, as its doc_hash says; allowed: logs of the same problems in the same order")


def _check_names(rows: Sequence[dict[str, Any]], wanted: Wanted) -> None:
    """Raise a UserError for a wanted metric or filter that no log has, or only some logs of a benchmark."""
    for option in ("metric", "filter"):
        name = getattr(wanted, option)
        used = {(row["benchmark"], row[option]) for row in rows if row[option] is not None}
        having = {benchmark for benchmark, one in used if one == name}
        if name is None or not rows:
            continue
        if not having:
            there = ", ".join(sorted({one for _, one in used})) or "none is there"
            raise UserError(f"--{option}: no log has a {option} {name}; allowed: {there}")
        for benchmark, one in sorted(used):
            if benchmark in having and one != name:
                fault = f"some logs of {benchmark} have {name} and others {one}"
                raise UserError(f"--{option}: {fault}; allowed: what all logs of a benchmark have")


def _files(path: Path) -> Sequence[tuple[Path, _Reader | None]]:
    """The file, or the logs of a folder, each with its reader, which is None for a file that is not a log."""
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder; allowed: {_KINDS}")
    if path.is_file():
        return [(path, _reader(path))]
    found = sorted(file for file in path.rglob("*") if file.is_file())
    if not (logs := [(file, read) for file in found if (read := _reader(file)) is not None]):
        raise UserError(f"{path}: no log in this folder; allowed: {_KINDS}")
    return logs


def _reader(file: Path) -> _Reader | None:
    if _HARNESS.fullmatch(file.name):
        return _read_harness
    if _LIGHTEVAL.fullmatch(file.name):
        return _read_lighteval
    if file.suffix == ".eval":
        return _read_inspect
    if file.suffix == ".json":
        with file.open("rb") as content:
            return _read_inspect if _BEGIN_OF_INSPECT.match(content.read(200)) else None
    return None


def _read_table(file: Path, wanted: Wanted) -> pd.DataFrame:
    if file.suffix not in TABLES:
        raise UserError(f"{file}: not a log that is known; allowed: {_KINDS} ({', '.join(TABLES)})")
    for option in ("metric", "filter"):
        if getattr(wanted, option) is not None:
            raise UserError(f"--{option}: {file} is a table, which has none to choose; allowed: with logs")
    try:
        table = pd.read_csv(file) if file.suffix == ".csv" else pd.read_parquet(file)
    except (ValueError, OSError) as error:  # among them those of pandas and Arrow for a file of another format
        raise UserError(f"{file}: cannot be read as {file.suffix[1:]}: {error}") from None
    if wanted.cluster is not None:
        if wanted.cluster not in table:
            raise UserError(f"{file}: no column {wanted.cluster}; allowed: {', '.join(map(str, table.columns))}")
        table = table.assign(cluster=table[wanted.cluster])
    return table


def _row(file: Path, model: str, time: str, task: str, problem: Any, correct: Any, cluster: Any) -> dict[str, Any]:
    if correct is not None and (np.ndim(correct) or correct not in (0, 1)):
        raise UserError(
            f"{file}: problem {problem}: the score is {correct!r}; allowed: 0 or 1; choose another --metric"
        )
    names = {"model": model, "benchmark": task, "problem": str(problem)}
    names |= {} if cluster is None else {"cluster": str(cluster)}  # without a cluster that of `counted`
    return {"time": time, **names, "correct": None if correct is None else int(correct), "hash": None}


def _chosen(file: Path, what: str, there: Iterable[str], wanted: str | None) -> str:
    """The only name, or the wanted one; whether any log has that is for :func:`_check_names`."""
    names = sorted(there)
    if wanted in names:
        return wanted
    if len(names) == 1:
        return names[0]
    fault = f"no {what} {wanted}" if wanted is not None else f"several {what}s" if names else f"no {what}"
    raise UserError(f"{file}: {fault}; choose by --{what} one of: {', '.join(names) or 'none is there'}")


def _field(file: Path, fields: Any, name: str | None) -> Any:
    """The field of a problem that names its cluster; None if no name of a field is given."""
    if name is None:
        return None
    if not isinstance(fields, dict) or fields.get(name) is None:
        allowed = ", ".join(fields) if isinstance(fields, dict) else "none"
        raise UserError(f"{file}: a problem has no field {name}; allowed: {allowed}")
    return fields[name]


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UserError(f"{file}, line {number}: not JSON: {error}") from None
            metrics = row.get("metrics") or [] if isinstance(row, dict) else None
            named = isinstance(metrics, list) and all(isinstance(metric, str) for metric in metrics)
            if not named or "doc_id" not in row:
                needed = "a doc_id, and in `metrics` a list of metrics"
                raise UserError(f"{file}, line {number}: no sample of lm-evaluation-harness, which has {needed}")
            yield row


def _read_harness(file: Path, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """The model is the folder's name (the model's without slashes), the problem is the task's `doc_id`."""
    match = _HARNESS.fullmatch(file.name)
    assert match is not None  # as `_reader` has checked
    if not (rows := list(_lines(file))):
        raise UserError(f"{file}: no samples; allowed: at least one line")
    model = file.absolute().parent.name
    chosen = _chosen(file, "filter", {str(row.get("filter", "none")) for row in rows}, wanted.filter)
    for row in rows:
        if str(row.get("filter", "none")) != chosen:
            continue
        metric = _chosen(file, "metric", row.get("metrics") or [], wanted.metric)
        cluster = _field(file, row.get("doc"), wanted.cluster)
        found = _row(file, model, match["time"], match["task"], row["doc_id"], row.get(metric), cluster)
        yield found | {"metric": metric, "filter": chosen, "hash": row.get("doc_hash")}


def _read_lighteval(file: Path, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """The model is the folders between `details` and the time, the problem the `id` of `doc`, as row order varies."""
    match = _LIGHTEVAL.fullmatch(file.name)
    assert match is not None
    parts = file.absolute().parts[:-2]
    below = len(parts) - parts[::-1].index("details") if "details" in parts else -1
    above = parts[below:] or parts[-1:]
    try:
        rows = pd.read_parquet(file).to_dict("records")
    except (ValueError, OSError) as error:
        raise UserError(f"{file}: cannot be read as Parquet: {error}") from None
    for row in rows:
        doc, scores = row.get("doc"), row.get("metric")
        if not isinstance(scores, dict) or not isinstance(doc, dict) or doc.get("id") is None:
            raise UserError(
                f"{file}: no columns metric, with scores by name, and doc, with an id, as lighteval writes them"
            )
        metric = _chosen(file, "metric", scores, wanted.metric)
        cluster = _field(file, doc, wanted.cluster)
        found = _row(file, "/".join(above), match["time"], match["task"], doc["id"], scores[metric], cluster)
        yield found | {"metric": metric, "filter": None}


def _read_inspect(file: Path, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Every epoch is a sample. A sample that ended in an error, or has no score or NaN as one, was not graded."""
    header, samples = _inspect_parts(file)
    try:
        facts = header["eval"]
        model, time, task = facts["model"], f"{facts['created']} {facts['run_id']}", facts["task"]
        for sample in samples:
            scores = sample.get("scores") or {}
            graded = bool(scores) and not sample.get("error")
            metric = _chosen(file, "metric", scores, wanted.metric) if graded else None
            value = scores[metric]["value"] if metric is not None else None
            cluster = _field(file, sample.get("metadata"), wanted.cluster)
            correct = _INSPECT.get(value, value) if isinstance(value, str | bool) else value
            unscored = isinstance(correct, float) and math.isnan(correct)
            found = _row(file, model, time, task, sample["id"], None if unscored else correct, cluster)
            yield found | {"metric": metric, "filter": None}
    except (LookupError, TypeError, AttributeError) as error:
        raise UserError(f"{file}: no log of Inspect: {type(error).__name__}: {error}") from None


def _inspect_parts(file: Path) -> tuple[Any, Any]:
    """The header of a log, and its samples or their summaries."""
    try:
        if file.suffix == ".json":
            log = json.loads(file.read_bytes())
            return log, log["samples"]
        with zipfile.ZipFile(file) as archive:
            return tuple(json.loads(_member(archive, f"{name}.json")) for name in ("header", "summaries"))
    except (*_DAMAGED, OSError, ValueError, KeyError, RecursionError) as error:
        raise UserError(f"{file}: cannot be read as a finished log of Inspect: {error}") from None


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of a file in an archive; Inspect uses Zstandard, which Python's zipfile reads from 3.14 on."""
    member = archive.getinfo(name)
    if member.compress_type != _ZSTANDARD:
        return archive.read(member)
    with Path(str(archive.filename)).open("rb") as log:
        log.seek(member.header_offset)
        head = log.read(30)  # the local header; it ends with the lengths of name and extra field, which follow
        log.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
        packed = log.read(member.compress_size)
    content = pa.Codec("zstd").decompress(packed, member.file_size, asbytes=True)
    if zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile(f"bad CRC-32 of {member.filename}")
    return content
