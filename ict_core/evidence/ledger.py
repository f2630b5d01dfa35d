"""The ledger: every claim with what this study's runs say about it."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ict_core.evidence.claims import Claim, DifferenceTest, Largest, Measure, Test
from ict_core.evidence.decide import Correction, Outcome, clearest, corrected, outcome
from ict_core.evidence.measures import QUANTITIES
from ict_core.evidence.values import benchmarks_of, room, searched, values_of
from ict_core.statistics.deciding import (
    CONTRADICTED,
    EQUIVALENT,
    NOT_CONFIRMED,
    NOT_RESOLVED,
    NOT_TESTABLE,
    NOT_TESTED,
    claim_verdict,
    detectable,
    finding,
    seeds_needed,
)
from ict_core.statistics.schemas import BASE, ROUNDING

_UNCORRECTED = ("estimate", "low", "high", "p", "p_equivalence")
_CORRECTED = ("p_adjusted", "p_equivalence_adjusted", "seeds_needed", "seeds_needed_seen", "detectable")
UNBOUNDED = "unbounded"  # an infinite number in JSON
POINTS = "points"  # the unit of differences in a metric, whose values are shares


@dataclass(frozen=True)
class LedgerFrames:
    """The frames that claims are tested on, and the benchmarks and gates that count."""

    runs: pd.DataFrame  # `statistics.schemas.RUNS`
    quantities: pd.DataFrame  # `statistics.schemas.QUANTITIES`
    mirrors: Mapping[str, str]  # benchmark -> the paper's benchmark whose place it takes
    failed: Mapping[str, str] = field(default_factory=dict)  # models in which gates failed -> those gates, in words
    outside: tuple[str, ...] = ()  # the paper's benchmarks that `mirrors` lacks, as their stand-ins have no headroom
    base: Mapping[tuple[str, str, str], float] = field(default_factory=dict)  # `statistics.arms.base_variances`


@dataclass(frozen=True)
class Entry:
    """One claim and its verdict.

    `seeds_needed`: runs of each model and arm that find the claimed effect (`Outcome.effect` if the paper gives no
    figure) at the corrected level with the declared power; infinite if no number does, NaN if unknown.
    """

    claim: Claim
    outcome: Outcome
    by_model: dict[str, float]  # each tested model's mean
    verdict: str  # supported, contradicted, not resolved, not testable here or not tested in this study
    remark: str  # why it was not tested, or what else a reader must know; may be empty
    p_adjusted: float = math.nan  # corrected within the claim's family
    p_equivalence_adjusted: float = math.nan
    seeds_needed: float = math.nan
    seeds_needed_seen: float = math.nan  # the same for the effect that was seen
    detectable: float = math.nan  # the smallest effect that these runs would have found with the declared power

    @property
    def unit(self) -> str:
        """`points` (the values are shares of 1), or the unit of the quantity."""
        test = self.claim.test
        return QUANTITIES[test.quantity].unit if isinstance(test, Measure) else POINTS


def ledger(claims: Sequence[Claim], frames: LedgerFrames, margin: float, power: float) -> list[Entry]:
    """Test every claim that the study can test, corrected within its family (:func:`corrected`). One entry per claim.

    `margin` is the smallest difference of interest, a share. `power` is for `seeds_needed` and `detectable`.
    """
    entries = [_tested(claim, frames, margin) for claim in claims]
    corrections = corrected([(entry.claim, entry.outcome) for entry in entries if entry.by_model])
    return [
        _judged(entry, corrections[entry.claim.id], frames, margin, power) if entry.by_model else entry
        for entry in entries
    ]


def _tested(claim: Claim, frames: LedgerFrames, margin: float) -> Entry:
    """The claim's outcome, before corrections and without a verdict; `by_model` is empty if it has none."""
    test = claim.test
    found: dict[Any, pd.Series] = {}
    if isinstance(test, Largest):
        found = searched(test, frames.runs)
    elif test is not None:
        found = values_of(test, frames.runs, frames.quantities, frames.mirrors)
        if not getattr(test, "every_model", None):  # a model of one run, which has no spread, leaves the others a test
            found = {model: series for model, series in found.items() if len(series) > 1} or found
    if test is None or not found:
        return Entry(claim, Outcome(), {}, NOT_TESTED, _absence(claim, frames))
    arrays = {key: series.to_numpy(np.float64) for key, series in found.items()}
    if isinstance(test, Largest):
        by_model: dict[str, float] = {}
        for (model, _, _), values in arrays.items():
            by_model[model] = max(by_model.get(model, -math.inf), float(values.mean()))
        result, (place, baseline, benchmark) = clearest(arrays, margin)
        remark = f"the clearest of {len(arrays)}: {place}, {benchmark}, over {baseline}"
    else:
        by_model = {model: float(array.mean()) for model, array in arrays.items()}
        means = list(by_model.values())
        if np.isnan(means).any():
            result = Outcome(seeds=min(map(len, arrays.values())), strata=len(arrays))
            remark = "not every run has a value, as where the token sample holds no selecting step"
            return Entry(claim, result, by_model, NOT_TESTED, remark)
        result, remark = outcome(test, arrays, margin, _shared(test, frames, arrays)), ""
        if result.seeds > 1 and all(np.ptp(array) <= ROUNDING for array in arrays.values()):
            remark = "all paired values are equal"
        elif result.seeds > 1 and isinstance(test, DifferenceTest) and min(means) < 0 < max(means):
            signs = ", ".join(f"{model} {100 * mean:+.1f}" for model, mean in by_model.items())
            remark = f"the models differ in sign: {signs}"
    one_seed = "one seed: there is no test" if result.seeds == 1 else ""
    rows = frames.runs[frames.runs["model"].isin(by_model)]
    result, limits = _limited(claim, replace(frames, runs=rows), result, margin)
    return Entry(claim, result, by_model, NOT_TESTED, _joined(remark, one_seed, limits))


def _shared(test: DifferenceTest | Measure, frames: LedgerFrames, models: Collection[str]) -> dict[str, float]:
    """Each model's variance of the error that its gains over a single base model share; empty for other tests."""
    if isinstance(test, Measure) or test.against != (BASE,):
        return {}
    names = benchmarks_of(test, frames.mirrors)
    keys = {model: [(model, name, test.metric) for name in names] for model in models}
    return {m: sum(frames.base.get(key, 0.0) for key in of_model) / len(names) ** 2 for m, of_model in keys.items()}


def _limited(claim: Claim, frames: LedgerFrames, result: Outcome, margin: float) -> tuple[Outcome, str]:
    """An outcome without what the levels behind it cannot show, and a remark on that.

    Equivalence contradicts no effect within the margin, and none that the baseline leaves no room for. A gain in one
    metric exceeds that in another only if it is a gain: the larger p of the two tests counts.
    """
    test, effect, remark = claim.test, margin if claim.paper_points is None else claim.paper_points / 100, ""
    if claim.paper_points is not None and effect <= margin:
        result = replace(result, p_equivalence=math.nan)
    if not isinstance(test, DifferenceTest) or test.direction == "equal":
        return result, remark
    if test.minus_metric is not None and result.finding == result.predicted:
        one_metric = test.model_copy(update={"minus_metric": None})
        gains = values_of(one_metric, frames.runs, frames.quantities, frames.mirrors)
        gain = outcome(test, {model: values.to_numpy(np.float64) for model, values in gains.items()}, margin)
        p, sd = gain.p, result.sd
        if gain.finding != result.predicted:  # a loss, which no number of seeds makes a gain
            p, sd = 1.0, math.nan
            remark = f"in {test.metric} the difference has the other sign: {100 * abs(gain.estimate):.1f} points"
        result = replace(result, p=float(np.maximum(result.p, p)), sd=sd)  # NaN stays NaN
    elif test.minus_metric is None and (left := room(test, frames.runs, frames.mirrors)) < effect:
        result = replace(result, p_equivalence=math.nan)
        remark = f"{' and '.join(test.against)} {100 * left:.1f} points from the limit, less than claimed"
    return result, remark


def _joined(*remarks: str) -> str:
    return "; ".join(filter(None, remarks))


def _judged(entry: Entry, correction: Correction, frames: LedgerFrames, margin: float, power: float) -> Entry:
    """A tested claim with its verdict, its corrected p, its power and all remarks."""
    claim, result, remarks = entry.claim, entry.outcome, [entry.remark]
    effect = result.effect if claim.paper_points is None else claim.paper_points / 100
    seen = str(finding(result.finding, result.p, correction.p, correction.p_equivalence))
    verdict = claim_verdict(result.predicted, seen)
    alpha, strata = correction.alpha / result.searched, result.strata
    needed, of_seen = (float(seeds_needed(s, result.sd, power, alpha, strata)) for s in (effect, result.estimate))
    smallest = float(detectable(result.sd, result.seeds, power, alpha, strata))
    if verdict == CONTRADICTED and seen == EQUIVALENT:
        remarks.append(f"within {100 * margin:g} points of 0")
    if result.predicted == EQUIVALENT:
        of_seen = smallest = math.nan
    elif verdict == NOT_RESOLVED:
        remarks.append(_seen(seen, smallest, claim))
    if correction.same:
        remarks.append(f"the same runs as {correction.same}, counted once")
    remarks += _left_out(claim, frames, entry.by_model)
    reasons = [frames.failed[model] for model in entry.by_model if model in frames.failed]
    if reasons and claim.guarded:  # its numbers stay
        verdict, remarks = NOT_TESTABLE, [*reasons, *remarks]
    corrected_p = correction.p, correction.p_equivalence
    return Entry(claim, result, entry.by_model, verdict, _joined(*remarks), *corrected_p, needed, of_seen, smallest)


def _seen(found: str, smallest: float, claim: Claim) -> str:
    """A remark on a difference from 0 that was not found; empty without a spread."""
    if math.isnan(smallest):
        return ""
    if found == NOT_CONFIRMED:
        return "seen, and not confirmed after the correction"
    if math.isinf(smallest):
        return "none seen, and none could have been: the seeds have too few sign flips for the corrected level"
    of_points = not isinstance(claim.test, Measure)
    if of_points and smallest > 1:
        return "none seen, and not even 100 points would have been found"
    size = f"{100 * smallest:.1f} points" if of_points else f"{smallest:.2g}"
    return f"none seen: {size} or more would mostly have been found"


def _left_out(claim: Claim, frames: LedgerFrames, tested: Collection[str]) -> Iterator[str]:
    """Remarks on models that are not among the `tested`, and on benchmarks that a claim names and its test is without.

    A claim on a quantity is about the models that have it.
    """
    about_quantity = isinstance(claim.test, Measure)
    if isinstance(claim.test, DifferenceTest):
        if claim.test.every_model and len(tested) == 1:
            yield "only one size was tested"
        yield _few_seeds(claim.test, frames.runs, tested)
    if lacking := [model for model in frames.runs["model"].unique() if not about_quantity and model not in tested]:
        yield f"without {', '.join(lacking)}, where its arms share no two seeds"
    named = getattr(claim.test, "benchmarks", None) or ()
    if excluded := [name for name in named if name in frames.outside]:
        yield f"without {', '.join(excluded)}, as the base model has no headroom there"
    if absent := [name for name in named if name not in {*frames.outside, *frames.mirrors.values()}]:
        yield f"without {', '.join(absent)}, which the study does not have"


def _few_seeds(test: DifferenceTest, runs: pd.DataFrame, tested: Collection[str]) -> str:
    """A remark on an arm with fewer runs than the compared one; else empty. A base model stands for all seeds."""
    for model in tested:
        rows = runs[(runs["model"] == model) & runs["variant"].isin([test.ours, *test.against])]
        seeds = rows[rows["variant"] != BASE].groupby("variant")["seed"].agg(set)
        ours = seeds[test.ours]
        few = min(seeds.index, key=lambda arm: len(seeds[arm] & ours))
        if (shared := len(seeds[few] & ours)) < len(ours):
            return f"on the {shared} of {len(ours)} seeds of {test.ours} that {few} has"
    return ""


def _absence(claim: Claim, frames: LedgerFrames) -> str:
    """Why a claim was not tested."""
    if claim.needs is not None:
        return f"needs {claim.needs}"
    ran = {*frames.runs["variant"], *frames.quantities.get("variant", ())}
    missing = [variant for variant in variants_of(claim.test) if variant not in ran]
    if missing:
        return f"without {', '.join(missing)}"
    named = getattr(claim.test, "benchmarks", None)
    if named and set(named) <= set(frames.outside):
        return "its benchmarks leave the base model no headroom"
    if named and not {*named} & {*frames.outside, *frames.mirrors.values()}:
        return f"without {', '.join(named)}, which the study does not have"
    if isinstance(claim.test, Measure):
        return "nothing has the quantity of its arms, as where no forks are known or no score has an elbow"
    return "no model ran both arms on its benchmarks"


def variants_of(test: Test | None) -> list[str]:
    """The variants that a test is about, the compared one first; none if there is no test."""
    if isinstance(test, Measure):
        return [test.of, *([test.minus] if test.minus else [])]
    return [test.ours, *test.against] if test is not None else []


def describe(claim: Claim) -> str:
    """The declared test in words, such as "ict-10 − grpo, pass@4, average: higher"."""
    test = claim.test
    if test is None:
        return "none"
    if isinstance(test, Measure):
        rule = f"within {test.within[0]:g} to {test.within[1]:g}" if test.within else f"{test.direction} than 0"
        arms = test.of if test.minus is None else f"{test.of} − {test.minus}"
        return f"{test.quantity.replace('_', ' ')} of {arms}: {rule}"
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
            return UNBOUNDED
        return None if math.isnan(value) else float(f"{value:.10g}")

    return [
        {
            **{name: getattr(entry.claim, name) for name in ("id", "statement", "source", "paper", "family")},
            "test": describe(entry.claim),
            "verdict": entry.verdict,
            "remark": entry.remark,
            "unit": "share" if entry.unit == POINTS else entry.unit,
            **{name: number(getattr(entry.outcome, name)) for name in _UNCORRECTED},
            "by_model": {model: number(mean) for model, mean in entry.by_model.items()},
            "models": list(entry.by_model),
            "seeds": entry.outcome.seeds,
            **{name: number(getattr(entry, name)) for name in _CORRECTED},
        }
        for entry in entries
    ]
