"""What a study says about its own validity: gates, and also headroom, learning rates at an edge, and power."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ict_core.evidence.claims import Measure
from ict_core.evidence.gates import Finding, failed, gates
from ict_core.evidence.ledger import Entry, LedgerFrames
from ict_core.evidence.stored import Stored
from ict_core.evidence.tuning import remarks
from ict_core.statistics.arms import count_matrices
from ict_core.statistics.headroom import HEADROOM_METRIC
from ict_core.statistics.intervals import over_runs
from ict_core.statistics.levels import base_variances
from ict_core.statistics.schemas import AVERAGE, BASE, VALIDITY

DECLARED, HEADROOM, RATE, DETECTABLE = "declared", "headroom", "rate", "detectable"
BEFORE, AFTER, UNKNOWN = "before the runs", "declared after the runs", "not known"
INSIDE, OUTSIDE = "in the average", "outside of the average"
_ALL = "all"  # instead of a model


def ledger_frames(study: Stored, runs: pd.DataFrame, quantities: pd.DataFrame) -> LedgerFrames:
    """What a study's claims are tested on: its frames, the benchmarks that count, the gates that failed."""
    settings = study.settings
    mirrors = {name: paper for name, paper in settings.mirrors.items() if name in study.averaged}
    outside = tuple(paper for name, paper in settings.mirrors.items() if name not in mirrors)
    base = _base(study, runs)
    found = gates(settings.validity, runs, settings.margin, base) if settings.validity else []
    return LedgerFrames(runs, quantities, mirrors, failed(found), outside, base)


def _base(study: Stored, runs: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """The `base_variances` in the metrics of the runs; empty without a base model's scores."""
    scores = study.frame("scores")
    of_base = scores[scores["variant"] == BASE]
    counts = count_matrices(of_base) if len(of_base) else {}
    return base_variances(counts, list(runs["metric"].unique()), study.averaged)


def validity_frame(
    study: Stored, frames: LedgerFrames, entries: Sequence[Entry], declared: Mapping[str, Any] | None
) -> pd.DataFrame:
    """A frame of `statistics.schemas.VALIDITY`; empty for a study that declares no gates.

    `frames` are those of :func:`ledger_frames`. `entries` are the ledger's, with the smallest differences that would
    have been found. `declared` is what `store.declared` recorded in the study's manifest (None: nothing).
    """
    settings = study.settings
    if settings.validity is None:
        return pd.DataFrame(columns=list(VALIDITY))
    rows = [
        _declared(declared or {}),
        *gates(settings.validity, frames.runs, settings.margin, frames.base),
        *_headroom(settings.validity.headroom_points, frames.runs, study.averaged),
        *_rates(study.frame("tuning")),
        *_detectable(settings.power, entries),
    ]
    return pd.DataFrame(rows, columns=list(VALIDITY))


def _declared(record: Mapping[str, Any]) -> Finding:
    """Whether gates, claims and analysis were committed before the runs."""
    files, after = ", ".join(record.get("files", {})), record.get("after")
    since = f"; {record['changed']} has changed since" if "changed" in record else ""
    outcome, because = BEFORE, f"by the commit in manifest.json{since}"
    if after:
        outcome, because = AFTER, f"not committed as now when a run began: {', '.join(after)}"
    elif after is None:
        outcome = UNKNOWN
        because = "a run's commit is not in the repository" if record else "the manifest does not record it"
    return Finding(DECLARED, _ALL, files, outcome=outcome, because=because)


def _headroom(room: float | None, runs: pd.DataFrame, averaged: Sequence[str]) -> Iterator[Finding]:
    """The base models' pass@1 and pass@4 on every benchmark, and whether the benchmark counts in the average."""
    bases = runs[(runs["variant"] == BASE) & (runs["benchmark"] != AVERAGE)]
    for (model, benchmark, metric), rows in bases.groupby(["model", "benchmark", "metric"], sort=False):
        if metric not in ("pass@1", HEADROOM_METRIC):
            continue
        value = over_runs(rows["value"].to_numpy(np.float64)).of_share()
        mean, low, high = (float(x) for x in (value.mean, value.low, value.high))
        bound = f"at most {100 - room:g} on every model" if room is not None and metric == HEADROOM_METRIC else ""
        outcome = INSIDE if benchmark in averaged else OUTSIDE
        label = f"{benchmark}, {metric} of {BASE}"
        yield Finding(HEADROOM, str(model), label, BASE, mean, low, high, math.nan, len(rows), bound, outcome)


def _rates(tuning: pd.DataFrame) -> Iterator[Finding]:
    """The arms with a remark on their learning rate: it is at an edge of those tried, or the arm gains at none."""
    for (model, variant), remark in remarks(tuning).items():
        if remark:
            rows = tuning[(tuning["model"] == model) & (tuning["variant"] == variant) & tuning["chosen"]]
            chosen, seeds = float(rows["rate"].iloc[0]), rows["seed"].nunique()
            yield Finding(RATE, model, f"learning rate of {variant}", value=chosen, seeds=seeds, outcome=remark)


def _detectable(power: float, entries: Sequence[Entry]) -> Iterator[Finding]:
    """For each family, the smallest differences that its claims' runs would have found after the correction."""
    families: dict[str, list[Entry]] = {}
    for entry in entries:
        if not isinstance(entry.claim.test, Measure) and not np.isnan(entry.detectable):
            families.setdefault(entry.claim.family, []).append(entry)
    for family, members in families.items():
        sizes = [entry.detectable for entry in members]
        text = f"smallest difference found in the family {family}"
        limits = float(np.median(sizes)), min(sizes), max(sizes)
        seeds = sorted({entry.outcome.seeds for entry in members})
        outcome = f"with power {power:g}, median and range of {len(sizes)} claims"
        outcome += f" of {seeds[0]} to {seeds[-1]} seeds" if seeds[1:] else ""
        yield Finding(DETECTABLE, _ALL, text, "", *limits, seeds=seeds[0], outcome=outcome)
