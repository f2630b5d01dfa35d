"""The ledger: every claim with what this study's runs say about it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ict_core.evidence.claims import Claim, Difference, Largest, Measure, Test
from ict_core.evidence.decide import Outcome, largest, no_value, outcome, verdict
from ict_core.evidence.measures import QUANTITIES
from ict_core.evidence.values import benchmarks_of, searched, values_of
from ict_core.statistics.deciding import ALPHA, CONTRADICTED, NOT_TESTED, holm
from ict_core.statistics.graded import Graded
from ict_core.statistics.names import AVERAGE
from ict_core.statistics.power import seeds_needed

POINTS = "points"  # the unit of differences in a metric, whose values are shares


@dataclass(frozen=True)
class Entry:
    """One claim and its verdict.

    Attributes:
        claim: as declared.
        test: the declared test in words.
        unit: `points` (the values are shares of 1), or what the quantity is.
        models: those that it was tested on.
        seeds: runs of each model and arm, the fewest; 0 where it was not tested.
        estimate, low, high: in the unit; NaN where there is none.
        by_model: each model's mean.
        p, p_adjusted: before and after Holm's correction over all tested claims.
        verdict: supported, contradicted, not resolved or not tested in this study.
        remark: why it was not tested, or what else a reader must know; may be empty.
        seeds_needed: runs of each model and arm that would find the claimed effect (the margin where the paper gives no
            figure) at the corrected level with the declared power; infinite where none would do, NaN where unknown.
    """

    claim: Claim
    test: str
    unit: str
    models: tuple[str, ...]
    seeds: int
    estimate: float
    low: float
    high: float
    by_model: dict[str, float]
    p: float
    p_adjusted: float
    verdict: str
    remark: str
    seeds_needed: float


@dataclass(frozen=True)
class Evidence:
    """The frames that claims are tested on, `schemas.RUNS` and `schemas.QUANTITIES`, and what they stand for.

    Attributes:
        mirrors: benchmark -> the paper's benchmark whose place it takes.
        graded: of the scores behind `runs`, for the remarks.
    """

    runs: pd.DataFrame
    quantities: pd.DataFrame
    mirrors: Mapping[str, str]
    graded: Graded


@dataclass(frozen=True)
class _Tested:
    result: Outcome
    by_model: dict[str, float]
    remark: str


def ledger(claims: Sequence[Claim], evidence: Evidence, margin: float, power: float) -> list[Entry]:
    """Test every claim that the study can test; Holm's correction runs over all of these.

    Args:
        margin: the smallest difference of interest, a share.
        power: of `seeds_needed`.

    Returns:
        One entry a claim, in the ledger's order.
    """
    tested = [_tested(claim, evidence, margin) for claim in claims]
    results = [t.result for t in tested if t is not None]
    adjusted = iter(holm([r.p for r in results]))
    alpha = ALPHA / max(1, len(results))
    return [
        _absent(claim, evidence) if t is None else _entry(claim, t, float(next(adjusted)), alpha, margin, power)
        for claim, t in zip(claims, tested, strict=True)
    ]


def _tested(claim: Claim, evidence: Evidence, margin: float) -> _Tested | None:
    test = claim.test
    if test is None:
        return None
    if isinstance(test, Largest):
        gains = {key: series.to_numpy(np.float64) for key, series in searched(test, evidence.runs).items()}
        if not gains:
            return None
        result, place = largest(gains, margin)
        models = list(dict.fromkeys(model for model, _, _ in gains))
        most = {m: max(float(g.mean()) for (model, _, _), g in gains.items() if model == m) for m in models}
        return _Tested(result, most, _joined(f"the largest of {len(gains)}: {place}", _notice(test, models, evidence)))
    values = values_of(test, evidence.runs, evidence.quantities, evidence.mirrors)
    if not values:
        return None
    arrays = {model: series.to_numpy(np.float64) for model, series in values.items()}
    by_model = {model: float(array.mean()) for model, array in arrays.items()}
    seeds = min(map(len, arrays.values()))
    if any(np.isnan(array).any() for array in arrays.values()):
        return _Tested(
            no_value(seeds, len(arrays)),
            by_model,
            "not every run has a value, as where the token sample holds no selecting step",
        )
    result = outcome(test, arrays, margin)
    remark = ""
    if seeds == 1:
        remark = "one seed: there is no test"
    elif math.isnan(result.p):
        remark = "all paired values are equal: there is no test"
    return _Tested(result, by_model, _joined(remark, _notice(test, by_model, evidence)))


def _notice(test: Test, models: Iterable[str], evidence: Evidence) -> str:
    """What must be known of the samples behind a claim's numbers: how many could be graded, where not all could."""
    if isinstance(test, Measure):  # made from training logs
        return ""
    benchmarks, metrics = [AVERAGE], [test.metric]
    if isinstance(test, Difference):
        benchmarks = benchmarks_of(test, evidence.mirrors)
        metrics += [test.minus_metric] if test.minus_metric else []
    arms = (test.ours, *test.against)
    found = {model: evidence.graded.notice(model, arms, benchmarks, metrics) for model in models}
    return "; ".join(f"{model}: {text}" for model, text in found.items() if text)


def _joined(*remarks: str) -> str:
    return "; ".join(filter(None, remarks))


def _entry(claim: Claim, tested: _Tested, p_adjusted: float, alpha: float, margin: float, power: float) -> Entry:
    result, remark = tested.result, tested.remark
    effect = result.effect if claim.paper_points is None else claim.paper_points / 100
    if claim.paper_points is not None and effect <= margin:  # the margin cannot tell the paper's figure from none
        result = replace(result, p_equivalence=math.nan)
    found = verdict(result, p_adjusted)
    if found == CONTRADICTED and result.p_equivalence < ALPHA <= p_adjusted:
        remark = _joined(remark, f"within {100 * margin:g} points of 0")
    return Entry(
        claim,
        describe(claim),
        _unit(claim),
        tuple(tested.by_model),
        result.seeds,
        result.estimate,
        result.low,
        result.high,
        tested.by_model,
        result.p,
        p_adjusted,
        found,
        remark,
        float(seeds_needed(effect, result.sd, power, alpha=alpha / result.searched, strata=result.strata)),
    )


def _absent(claim: Claim, evidence: Evidence) -> Entry:
    nan = math.nan
    if claim.needs is not None:
        remark = f"needs {claim.needs}"
    else:
        ran = set(evidence.runs["variant"])
        missing = [v for v in variants_of(claim.test) if v not in ran]
        remark = "no model ran both arms on its benchmarks"
        if missing:
            remark = f"without {', '.join(missing)}"
        elif isinstance(claim.test, Measure):
            remark = "no run has the quantity of both arms, as where no forks are known"
    return Entry(claim, describe(claim), _unit(claim), (), 0, nan, nan, nan, {}, nan, nan, NOT_TESTED, remark, nan)


def variants_of(test: Test | None) -> list[str]:
    """The variants that a test is about, the compared one first; none without a test."""
    if isinstance(test, Measure):
        return [test.of, *([test.minus] if test.minus else [])]
    return [test.ours, *test.against] if test is not None else []


def _unit(claim: Claim) -> str:
    return QUANTITIES[claim.test.quantity].unit if isinstance(claim.test, Measure) else POINTS


def describe(claim: Claim) -> str:
    """The declared test in words, such as "ict-10 − grpo, pass@4, average: higher"."""
    test = claim.test
    if test is None:
        return "none"
    if isinstance(test, Measure):
        rule = f"within {test.within[0]:g} to {test.within[1]:g}" if test.within else f"{test.direction} than 0"
        of = test.of if test.minus is None else f"{test.of} − {test.minus}"
        return f"{test.quantity.replace('_', ' ')} of {of}: {rule}"
    others = ", ".join(test.against)
    if isinstance(test, Largest):
        return f"largest {test.ours} − {others} on one benchmark, {test.metric}: higher than 0"
    if test.combine:
        others = f"{test.combine} of {others}"
    metric = test.metric if test.minus_metric is None else f"{test.metric} less {test.minus_metric}"
    place = "average" if test.benchmarks is None else " and ".join(test.benchmarks)
    scope = ", every model" if test.every_model else ""
    rule = "equal within the margin" if test.direction == "equal" else f"{test.direction} than 0"
    return f"{test.ours} − {others}, {metric}, {place}{scope}: {rule}"


def as_json(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The entries as JSON-able values; a number that does not exist is null."""

    def number(value: float) -> float | str | None:
        if math.isinf(value):
            return "unbounded"
        return None if math.isnan(value) else float(f"{value:.10g}")

    return [
        {
            "id": e.claim.id,
            "statement": e.claim.statement,
            "source": e.claim.source,
            "paper": e.claim.paper,
            "test": e.test,
            "verdict": e.verdict,
            "remark": e.remark,
            "unit": "share" if e.unit == POINTS else e.unit,
            "estimate": number(e.estimate),
            "low": number(e.low),
            "high": number(e.high),
            "by_model": {model: number(mean) for model, mean in e.by_model.items()},
            "models": list(e.models),
            "seeds": e.seeds,
            "p": number(e.p),
            "p_adjusted": number(e.p_adjusted),
            "seeds_needed": number(e.seeds_needed),
        }
        for e in entries
    ]
