"""From a row of a table or a claim of the ledger to the runs behind its numbers, and the numbers computed again."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ict_core.errors import Damaged, UserError
from ict_core.evidence import bench
from ict_core.evidence.claims import DifferenceTest, Largest, Measure, Test
from ict_core.evidence.decide import clearest
from ict_core.evidence.ledger import LedgerFrames, as_json, describe, ledger, variants_of
from ict_core.evidence.measures import QUANTITIES, run_quantities, runs_of
from ict_core.evidence.stored import Stored
from ict_core.evidence.validity import ledger_frames
from ict_core.evidence.values import benchmarks_of, searched, values_of
from ict_core.statistics.arms import run_frame
from ict_core.statistics.pairing import shared_seeds
from ict_core.statistics.schemas import AVERAGE
from ict_core.tables.registry import TABLES, Origin

_LISTED = 12


def table_of(path: Path) -> tuple[Origin, pd.DataFrame]:
    """A table's origin, and its rows as the texts in the file; `Damaged` if it is not CSV with the key columns."""
    if path.suffix != ".csv" or path.stem not in TABLES:
        names = ", ".join(f"{name}.csv" for name in TABLES)
        allowed = f"results/STUDY/claims.json, and results/STUDY/tables/ with one of {names}"
        raise UserError(f"{path}: no table of a study; allowed: {allowed}")
    try:
        rows = pd.read_csv(path, dtype="str", keep_default_na=False)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file; run the workflow up to the tables") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise Damaged(f"{path}: not a CSV file ({error})", path) from error
    origin = TABLES[path.stem]
    missing = [key for key in origin.keys if key not in rows.columns]
    if missing:
        raise Damaged(f"{path}: no column {', '.join(missing)}", path)
    return origin, rows


def chosen_row(path: Path, origin: Origin, rows: pd.DataFrame, selection: str) -> "pd.Series[str]":
    """The one row that a selection names.

    A selection is ``value/value/...`` in the order of the key columns, or ``column=value,...`` of any columns. If no
    row or several have its values, the error lists candidates. `path` is for messages.
    """
    names = "/".join(origin.keys)
    if "=" in selection:
        pairs = [part.partition("=") for part in re.split(r",(?=[^,=]+=)", selection)]  # a value may hold a comma
        conditions = {column.strip(): value.strip() for column, _, value in pairs}
    elif selection.count("/") < len(origin.keys):
        conditions = dict(zip(origin.keys, selection.split("/"), strict=False))
    else:  # a value holds a slash
        conditions, rows = {}, rows[rows[list(origin.keys)].agg("/".join, axis=1) == selection]
        if rows.empty:
            raise UserError(f"--cell {selection}: more values than key columns; allowed: {names}, or COLUMN=VALUE,...")
    unknown = [column for column in conditions if column not in rows.columns]
    if unknown:
        raise UserError(f"--cell {selection}: no column {', '.join(unknown)}; {path} has {', '.join(rows.columns)}")
    for column, value in conditions.items():
        allowed, rows = rows[column], rows[rows[column] == value]
        if rows.empty:
            values = ", ".join(dict.fromkeys(map(repr, allowed.head(1000))))
            raise UserError(f"{path}: no row with {column} {value!r} among these; allowed: {values}")
    if len(rows) > 1:
        lines = ["/".join(row) for row in rows[list(origin.keys)].head(_LISTED).itertuples(index=False)]
        lines += [f"and {len(rows) - _LISTED} more"] if len(rows) > _LISTED else []
        several = f"{len(rows)} rows of {path}; choose one ({names}):"
        raise UserError("\n  ".join([f"--cell {selection}: {several}", *lines]))
    return rows.iloc[0]


_DIGITS = 1e-9  # relative: a table has ten significant digits
_NOTHING = 1e-12  # absolute: a table prints this as 0


class Entering(NamedTuple):
    """The runs of one variant, by ascending seed, with the value of each from which the number is made."""

    model: str
    variant: str
    seeds: tuple[int, ...]
    values: tuple[float, ...] | None  # None if no score enters, or none of that benchmark


class Checked(NamedTuple):
    """A printed value checked against the runs: its name, what was done, and the outcome in words and as a bool."""

    name: str
    done: str
    said: str
    equal: bool


def entering(
    origin: Origin, row: Mapping[str, str], scores: pd.DataFrame, averaged: Sequence[str] | None = None
) -> list[Entering]:
    """The runs behind a row of a table, those of the compared variant last, from the whole study's scores.

    The average is over the benchmarks `averaged`, by default over all.
    """
    model = row.get("model") or row.get("states") or ""
    if origin is TABLES["paper"] and row["source"] == "paper":
        return []
    of_other_cells, of_no_runs = row.get("rates") == "shared", not origin.runs and origin.source != "tokens"
    if of_other_cells or of_no_runs:
        return []
    scores = scores[scores["model"] == model]
    variants = list(dict.fromkeys(name for column in origin.runs for name in row[column].split(", ")))
    if not origin.runs:  # the token samples of all the model's trainings enter
        variants = [variant for variant in scores["variant"].unique() if variant != "base"]
    if row.get("seed"):
        scores = scores[scores["seed"] == int(row["seed"])]
    frames = [scores[scores["variant"] == variant] for variant in variants]
    seeds = [sorted(map(int, frame["seed"].unique())) for frame in frames]
    if not all(seeds):  # a variant was not run on this model
        return []
    if len(frames) > 1 and len(origin.runs) > 1:  # paired: the seeds that both have; a mean is over all of the variant
        shared = shared_seeds(seeds[0], seeds[1])
        seeds = [seeds[0] if "mean" in row else shared, shared]
        frames = [frame[frame["seed"].isin(entered)] for frame, entered in zip(frames, seeds, strict=True)]
    values = [_values(row, frame, averaged) for frame in frames]
    return [Entering(model, *runs) for runs in zip(variants, map(tuple, seeds), values, strict=True)]


def _values(row: Mapping[str, str], scores: pd.DataFrame, averaged: Sequence[str] | None) -> tuple[float, ...] | None:
    """The row's metric on its benchmark for each run, by ascending seed."""
    if "metric" not in row or scores.empty:
        return None
    runs = run_frame(scores, [row["metric"]], averaged)
    runs = runs[runs["benchmark"] == row.get("benchmark", AVERAGE)].sort_values("seed")
    return tuple(runs["value"].tolist()) or None


def recomputed(origin: Origin, row: Mapping[str, str], runs: list[Entering]) -> list[Checked]:
    """The numbers of a row that the runs give: `mean` and `difference`, if it has them."""
    if not origin.follow or not runs or not runs[0].values:
        return []
    first = runs[0].values
    values = {"mean": math.fsum(first) / len(first)}
    if len(runs) > 1 and runs[1].values:
        by_seed = dict(zip(runs[0].seeds, first, strict=True))
        gaps = [by_seed[seed] - value for seed, value in zip(runs[1].seeds, runs[1].values, strict=True)]
        values["difference"] = math.fsum(gaps) / len(gaps)
    return [
        checked(name, f"{value:.10g}", origin.file, row[name], equal=agrees(row[name], value))
        for name, value in values.items()
        if name in row
    ]


def checked(name: str, value: str, source: str, printed: str, *, equal: bool) -> Checked:
    """A value that was computed again from a stored file, beside the printed one."""
    outcome = "as printed" if equal else f"NOT the printed {printed or '—'}"
    return Checked(name, f"recomputed from {source}: {value}", outcome, equal)


def agrees(printed: str, value: float) -> bool:
    """Whether a table's text is this number, to the ten digits that a table has."""
    try:
        return math.isclose(float(printed), value, rel_tol=_DIGITS, abs_tol=_NOTHING)
    except ValueError:  # the text is not a number
        return False


_NUMBERS = (
    *("estimate", "low", "high", "p", "p_adjusted", "p_equivalence", "p_equivalence_adjusted"),
    *("seeds_needed", "seeds_needed_seen", "detectable"),
)
_ORIGIN = Origin(
    keys=("id",),
    made="the declared test of the claim over training runs; adjusted p by Holm over the tested claims of its family",
    module="evidence/ledger.py",
    doc="docs/statistics.md#families",
    runs=(),
)


def claims_of(path: Path) -> tuple[Origin, pd.DataFrame]:
    """The origin of a study's claims, and the claims as texts, a row each; an error unless `ict claims` wrote them."""
    try:
        claims = json.loads(path.read_bytes())["claims"]
        rows = pd.DataFrame([{key: _text(value) for key, value in claim.items()} for claim in claims])
        if not set(_NUMBERS) | {"id", "test", "verdict", "models"} <= set(rows.columns) or rows.isna().any(axis=None):
            raise ValueError("a claim lacks a key")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{path}: no such file; run the workflow up to the claims") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        fault = f"not as `ict claims` writes it ({error!r}); run the workflow's claims again"
        raise UserError(f"{path}: {fault}") from error
    return _ORIGIN, rows


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(of_key)}" for key, of_key in value.items())
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def trace(
    row: Mapping[str, str], path: Path, scores: pd.DataFrame, declared: Path
) -> tuple[Origin, list[Entering], list[Checked]]:
    """What a claim's numbers come from: its origin, the runs that enter, and each number computed from them again.

    The study's stored files are beside `path`, the claims; `declared` is their ledger, `configs/claims.yaml`. If the
    study does not test the claim, there are no runs and no numbers.
    """
    study = Stored(path.parent)
    settings = study.settings
    claims = bench.claims_of(declared, settings)
    claim = next((c for c in claims if c.id == row["id"]), None)
    if claim is None:
        advice = f"{path} was made by another ledger; name it: --claims FILE"
        raise UserError(f"{declared}: no claim {row['id']}; allowed: {', '.join(c.id for c in claims)}; {advice}")
    log, tokens = study.frame("log"), study.frame("tokens")
    quantities = run_quantities(list(QUANTITIES), settings.variants, log, tokens)
    frames = ledger_frames(study, run_frame(scores, averaged=study.averaged), quantities)
    entries = as_json(ledger(claims, frames, settings.margin, settings.power))
    again = next(entry for entry in entries if entry["id"] == claim.id)
    if not again["models"] and not row["models"]:
        return _ORIGIN, [], []
    origin = _ORIGIN
    if claim.bound_with is not None:
        made = f"{origin.made}; a bound of docs/methods.md ties it to {claim.bound_with}"
        origin = replace(origin, made=made)
    if isinstance(claim.test, Measure):
        origin = replace(origin, source=QUANTITIES[claim.test.quantity].frame)
    made = describe(claim)
    outcome = "as printed" if made == row["test"] else f"NOT the test that was made: {made}"
    numbers = [Checked("test", f"declared by {declared}", outcome, outcome == "as printed")]
    for name in (*_NUMBERS, "verdict"):
        text, printed = _text(again[name]), row[name]
        equal = agrees(printed, again[name]) if isinstance(again[name], float) else text == printed
        numbers.append(checked(name, text or "—", origin.file, printed, equal=equal))
    return (
        origin,
        list(_entering(claim.test, frames, settings.margin)) if claim.test and again["models"] else [],
        numbers,
    )


def _entering(test: Test, frames: LedgerFrames, margin: float) -> Iterator[Entering]:
    """The runs that enter, with the value of each; if a difference is searched, those of the clearest."""
    variants, benchmarks = variants_of(test), list[str]()
    if isinstance(test, Largest):
        gains = searched(test, frames.runs)
        arrays = {key: gain.to_numpy(np.float64) for key, gain in gains.items()}
        model, baseline, benchmark = chosen = clearest(arrays, margin)[1]
        values, variants, benchmarks = {model: gains[chosen]}, [test.ours, baseline], [benchmark]
    else:
        values = values_of(test, frames.runs, frames.quantities, frames.mirrors)
        benchmarks = benchmarks_of(test, frames.mirrors) if isinstance(test, DifferenceTest) else []
    for model, tested in values.items():
        for variant in variants:
            arm = _arm(test, model, variant, benchmarks, frames)
            paired = arm[arm.index.isin(tested.index)]
            arm = paired if len(paired) else arm  # the base model, evaluated once, is compared with each seed
            yield Entering(model, variant, tuple(map(int, arm.index)), tuple(arm.tolist()))


def _arm(test: Test, model: str, variant: str, benchmarks: list[str], frames: LedgerFrames) -> pd.Series:
    """Each run's value, indexed by ascending seed."""
    if isinstance(test, Measure):
        return runs_of(frames.quantities, test.quantity, variant).loc[model].sort_index()
    runs = frames.runs
    runs = runs[(runs["model"] == model) & (runs["variant"] == variant) & runs["benchmark"].isin(benchmarks)]
    metrics = [test.metric, test.minus_metric] if isinstance(test, DifferenceTest) else [test.metric]
    means = [runs[runs["metric"] == metric].groupby("seed")["value"].mean() for metric in metrics if metric]
    return means[0] - means[1] if len(means) > 1 else means[0]
