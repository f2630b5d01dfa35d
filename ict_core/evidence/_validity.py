"""What a study says of its own validity: the gates, and beside them headroom, rates at an edge, and power."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
import pandas as pd

from ict_core.evidence._claims import Measure
from ict_core.evidence._gates import failed, gates
from ict_core.evidence._ledger import Entry, LedgerFrames
from ict_core.evidence._stored import Settings, Stored
from ict_core.evidence._tuning import remarks
from ict_core.statistics import AVERAGE, BASE, HEADROOM_METRIC, VALIDITY, Graded, over_runs

DECLARED, HEADROOM, RATE, DETECTABLE = "declared", "headroom", "rate", "detectable"
BEFORE, AFTER, UNKNOWN = "before the runs", "declared after the runs", "not known"
INSIDE, OUTSIDE = "in the average", "outside of the average"
_ALL = "all"  # in the place of a model

Row = tuple[Any, ...]  # of `statistics.VALIDITY`


def ledger_frames(study: Stored, runs: pd.DataFrame, quantities: pd.DataFrame, scores: pd.DataFrame) -> LedgerFrames:
    """What a study's claims are tested on: the benchmarks that count, the gates that failed."""
    settings = study.settings
    mirrors = {name: paper for name, paper in settings.mirrors.items() if name in study.averaged}
    outside = tuple(paper for name, paper in settings.mirrors.items() if name not in mirrors)
    found = gates(settings.validity, runs, settings.margin) if settings.validity else []
    return LedgerFrames(runs, quantities, mirrors, Graded(scores, study.averaged), failed(found), outside)


def validity_frame(
    study: Stored, runs: pd.DataFrame, entries: Sequence[Entry], declared: Mapping[str, Any] | None
) -> pd.DataFrame:
    """`statistics.VALIDITY`; empty of a study that declares no gates.

    Args:
        study: the study; its scores and tuning are read.
        runs: `statistics._schemas.RUNS`.
        entries: the ledger's, for the differences that would have been found.
        declared: of the study's manifest, what `store.declared` recorded; None where nothing is.
    """
    settings = study.settings
    rows: list[Row] = []
    if settings.validity is not None:
        rows = [
            _declared(declared),
            *(astuple(gate) for gate in gates(settings.validity, runs, settings.margin)),
            *_headroom(settings, runs, study.averaged),
            *_rates(study.frame("tuning")),
            *_detectable(settings, entries),
        ]
    return pd.DataFrame(rows, columns=list(VALIDITY)).astype({n: kind for n, kind in VALIDITY.items() if kind != "str"})


def _row(gate: str, model: object, what: str, outcome: str, **more: Any) -> Row:
    nothing = {**dict.fromkeys(("value", "low", "high", "p"), np.nan), "seeds": 0}
    row = dict.fromkeys(VALIDITY, "") | nothing | {"gate": gate, "model": model, "of": what, "outcome": outcome} | more
    return tuple(row[column] for column in VALIDITY)


def _declared(record: Mapping[str, Any] | None) -> Row:
    """Whether gates, claims and analysis were committed before the runs."""
    record = record or {}
    what, after = ", ".join(record.get("files", {})), record.get("after")
    if after:
        return _row(DECLARED, _ALL, what, AFTER, because=f"changed after a run began: {', '.join(after)}")
    if after is None:
        because = "a run's commit is not in the repository" if record else "the manifest does not record it"
        return _row(DECLARED, _ALL, what, UNKNOWN, because=because)
    return _row(DECLARED, _ALL, what, BEFORE, because=f"commit {record['commit'][:12]}")


def _headroom(settings: Settings, runs: pd.DataFrame, averaged: Sequence[str]) -> Iterator[Row]:
    """The base models' pass@1 and pass@4 on every benchmark, and whether it counts in the average."""
    assert settings.validity is not None
    room = settings.validity.headroom_points
    bases = runs[(runs["variant"] == BASE) & (runs["benchmark"] != AVERAGE)]
    for (model, benchmark, metric), rows in bases.groupby(["model", "benchmark", "metric"], sort=False):
        if metric not in ("pass@1", HEADROOM_METRIC):
            continue
        value = over_runs(rows["value"].to_numpy(np.float64)).of_share()
        limits = {"value": float(value.mean), "low": float(value.low), "high": float(value.high), "seeds": len(rows)}
        asked = f"at most {100 - room:g} on every model" if room is not None and metric == HEADROOM_METRIC else ""
        outcome = INSIDE if benchmark in averaged else OUTSIDE
        yield _row(HEADROOM, model, f"{benchmark}, {metric} of {BASE}", outcome, arms=BASE, asked=asked, **limits)


def _rates(tuning: pd.DataFrame) -> Iterator[Row]:
    """The arms of whose learning rate something must be said: it lies at an edge of those tried, or none gains."""
    for (model, variant), remark in remarks(tuning).items():
        if remark:
            rows = tuning[(tuning["model"] == model) & (tuning["variant"] == variant) & tuning["chosen"]]
            chosen, seeds = float(rows["rate"].iloc[0]), rows["seed"].nunique()
            yield _row(RATE, model, f"learning rate of {variant}", remark, value=chosen, seeds=seeds)


def _detectable(settings: Settings, entries: Sequence[Entry]) -> Iterator[Row]:
    """Of each family the smallest difference in points that its claims' runs would have found after the correction."""
    families: dict[str, list[Entry]] = {}
    for entry in entries:
        if not isinstance(entry.claim.test, Measure) and not np.isnan(entry.detectable):
            families.setdefault(entry.claim.family, []).append(entry)
    for family, members in families.items():
        sizes = [entry.detectable for entry in members]
        text = f"smallest difference found in the family {family}"
        limits = {"value": float(np.median(sizes)), "low": min(sizes), "high": max(sizes)}
        seeds = min(entry.outcome.seeds for entry in members)
        outcome = f"with power {settings.power:g}, median and range of {len(sizes)} claims"
        yield _row(DETECTABLE, _ALL, text, outcome, seeds=seeds, **limits)
