"""From a claim of the ledger to the runs behind its numbers, and the numbers from these again."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ict_core.errors import UserError
from ict_core.evidence import (
    QUANTITIES,
    DifferenceTest,
    Largest,
    LedgerFrames,
    Measure,
    Stored,
    Test,
    as_json,
    benchmarks_of,
    describe,
    ledger,
    read_claims,
    run_quantities,
    runs_of,
    searched,
    values_of,
    variants_of,
)
from ict_core.statistics import Graded, run_frame
from ict_core.tables import Origin
from ict_core.tools.explain._runs import Checked, Entering, agrees, checked

_NUMBERS = ("estimate", "low", "high", "p", "p_adjusted", "seeds_needed")
_ORIGIN = Origin(
    keys=("id",),
    made="the declared test of the claim over training runs; adjusted p by Holm over all claims tested",
    module="evidence/_ledger.py",
    doc="docs/statistics.md#families",
    runs=(),
)


def claims_of(path: Path) -> tuple[Origin, pd.DataFrame]:
    """The origin of a study's claims, and the claims as texts, a row each.

    Raises:
        UserError: there is no such file, or it is not as `ict claims` writes it.
    """
    try:
        claims = json.loads(path.read_bytes())["claims"]
        rows = pd.DataFrame([{key: _text(value) for key, value in claim.items()} for claim in claims])
        if not set(_NUMBERS) | {"id", "test", "verdict", "models"} <= set(rows.columns) or rows.isna().any(axis=None):
            raise ValueError("a claim lacks a key")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{path}: no such file; run the workflow up to the claims") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UserError(
            f"{path}: not as `ict claims` writes it ({error!r}); run the workflow's claims again"
        ) from error
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

    Args:
        path: of the claims, beside which the study's stored files lie.
        scores: a frame of `records.SCORES`: the whole study's.
        declared: the ledger by which they were made, `configs/claims.yaml`.

    Returns:
        No run and no number where the study does not test the claim.

    Raises:
        UserError: a stored file is missing, or the ledger is broken or has no such claim.
    """
    claims = read_claims(declared)
    claim = next((c for c in claims if c.id == row["id"]), None)
    if claim is None:
        advice = f"{path} was made by another ledger; name it: --claims FILE"
        raise UserError(f"{declared}: no claim {row['id']}; allowed: {', '.join(c.id for c in claims)}; {advice}")
    study = Stored(path.parent)
    settings = study.settings
    quantities = run_quantities(list(QUANTITIES), settings.variants, study.frame("log"), study.frame("tokens"))
    evidence = LedgerFrames(run_frame(scores), quantities, settings.mirrors, Graded(scores))
    entries = as_json(ledger(claims, evidence, settings.margin, settings.power))
    again = next(entry for entry in entries if entry["id"] == claim.id)
    if not again["models"] and not row["models"]:
        return _ORIGIN, [], []
    origin = _ORIGIN
    if isinstance(claim.test, Measure):
        origin = replace(origin, source=QUANTITIES[claim.test.quantity].frame)
    said = "as printed" if describe(claim) == row["test"] else f"NOT the test that was made: {describe(claim)}"
    numbers = [Checked("test", f"declared by {declared}", said, said == "as printed")]
    for name in (*_NUMBERS, "verdict"):
        text, printed = _text(again[name]), row[name]
        equal = agrees(printed, again[name]) if isinstance(again[name], float) else text == printed
        numbers.append(checked(name, text or "—", origin.file, printed, equal=equal))
    return origin, list(_entering(claim.test, evidence)) if claim.test and again["models"] else [], numbers


def _entering(test: Test, evidence: LedgerFrames) -> Iterator[Entering]:
    """The runs that enter, with the value of each; of a searched largest difference those of the largest."""
    variants, benchmarks = variants_of(test), list[str]()
    if isinstance(test, Largest):
        gains = searched(test, evidence.runs)
        model, baseline, benchmark = largest = max(gains, key=lambda key: float(gains[key].mean()))
        values, variants, benchmarks = {model: gains[largest]}, [test.ours, baseline], [benchmark]
    else:
        values = values_of(test, evidence.runs, evidence.quantities, evidence.mirrors)
        benchmarks = benchmarks_of(test, evidence.mirrors) if isinstance(test, DifferenceTest) else []
    for model, tested in values.items():
        for variant in variants:
            arm = _arm(test, model, variant, benchmarks, evidence)
            paired = arm[arm.index.isin(tested.index)]
            arm = paired if len(paired) else arm  # the base model, evaluated once, stands against each seed
            yield Entering(model, variant, tuple(map(int, arm.index)), tuple(arm.tolist()))


def _arm(test: Test, model: str, variant: str, benchmarks: list[str], evidence: LedgerFrames) -> pd.Series:
    """Each run's value, indexed by seed, rising."""
    if isinstance(test, Measure):
        return runs_of(evidence.quantities, test.quantity, variant).loc[model].sort_index()
    runs = evidence.runs
    runs = runs[(runs["model"] == model) & (runs["variant"] == variant) & runs["benchmark"].isin(benchmarks)]
    metrics = [test.metric, test.minus_metric] if isinstance(test, DifferenceTest) else [test.metric]
    means = [runs[runs["metric"] == metric].groupby("seed")["value"].mean() for metric in metrics if metric]
    return means[0] - means[1] if len(means) > 1 else means[0]
