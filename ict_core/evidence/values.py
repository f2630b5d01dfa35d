"""The values that claims are about: one a run of each model, from the frames of the statistics."""

from collections.abc import Mapping, Sequence

import pandas as pd

from ict_core.evidence.claims import DifferenceTest, Largest, Measure
from ict_core.evidence.measures import runs_of
from ict_core.statistics.pairing import paired_differences
from ict_core.statistics.schemas import AVERAGE, BASE, Metric

Strata = dict[str, pd.Series]
"""For each model that ran what a test compares: one value a run, indexed by seed, rising."""


def values_of(
    test: DifferenceTest | Measure, runs: pd.DataFrame, quantities: pd.DataFrame, mirrors: Mapping[str, str]
) -> Strata:
    """The values that a test is about (see :class:`LedgerFrames`); empty where its variants or benchmarks never ran."""
    if isinstance(test, Measure):
        values = _by_model(runs_of(quantities, test.quantity, test.of))
        if test.minus is None:
            return values
        less = _by_model(runs_of(quantities, test.quantity, test.minus))
        return _not_empty({m: paired_differences(values[m], less[m]) for m in values if m in less})
    benchmarks = benchmarks_of(test, mirrors)
    values = _gains(test, runs, benchmarks, test.metric)
    if test.minus_metric is not None:
        less = _gains(test, runs, benchmarks, test.minus_metric)
        values = {model: values[model] - less[model] for model in values}
    return values


def differences_of(runs: pd.DataFrame, ours: str, less: str, metric: Metric) -> Strata:
    """Of each model that ran both variants the differences on the average, paired by seed (base model)."""
    test = DifferenceTest(kind="difference", ours=ours, against=(less,), metric=metric, direction="higher")
    return values_of(test, runs, pd.DataFrame(), {})


def benchmarks_of(test: DifferenceTest, mirrors: Mapping[str, str]) -> list[str]:
    """The study's benchmarks that a difference is a mean over: the average, or those in the place of the paper's."""
    if test.benchmarks is None:
        return [AVERAGE]
    return [name for name, paper in mirrors.items() if paper in test.benchmarks]


def searched(test: Largest, runs: pd.DataFrame) -> dict[tuple[str, str, str], pd.Series]:
    """(model, baseline, benchmark) -> the paired differences of the runs, for all that :class:`Largest` searches."""
    gains = {}
    for benchmark in runs.loc[runs["benchmark"] != AVERAGE, "benchmark"].unique():
        levels = _levels(runs, [benchmark], test.metric)
        for baseline in test.against:
            for model, gain in _paired(levels, test.ours, baseline).items():
                gains[model, baseline, str(benchmark)] = gain
    return gains


def _levels(runs: pd.DataFrame, benchmarks: Sequence[str], metric: str) -> pd.Series:
    """The mean over the benchmarks, indexed by (model, variant, seed)."""
    rows = runs[runs["benchmark"].isin(benchmarks) & (runs["metric"] == metric)]
    return rows.groupby(["model", "variant", "seed"], sort=False)["value"].mean()


def _by_model(values: pd.Series) -> Strata:
    """Of each model the values, indexed by seed alone; those of a variant, indexed by (model, seed)."""
    return {str(model): of_model.droplevel("model") for model, of_model in values.groupby(level="model", sort=False)}


def _paired(levels: pd.Series, ours: str, baseline: str) -> Strata:
    """ours - baseline of the seeds that both ran; the base model, evaluated once, stands against each of them."""
    variants = levels.index.get_level_values("variant")
    mine, other = (_by_model(levels[variants == name].droplevel("variant")) for name in (ours, baseline))
    gains = {}
    for model in [model for model in mine if model in other]:
        values, theirs = mine[model], other[model]
        if baseline == BASE and len(theirs) == 1:
            theirs = pd.Series(theirs.iloc[0], index=values.index)
        gains[model] = paired_differences(values, theirs)
    return _not_empty(gains)


def _gains(test: DifferenceTest, runs: pd.DataFrame, benchmarks: Sequence[str], metric: str) -> Strata:
    """The gain over one baseline, over the mean of several, or over the one of them with the highest mean."""
    levels = _levels(runs, benchmarks, metric)
    over = [_paired(levels, test.ours, baseline) for baseline in test.against]
    combined = {}
    for model in over[0]:
        if all(model in gains for gains in over):
            table = pd.concat([gains[model] for gains in over], axis=1, join="inner", keys=test.against)
            combined[model] = table[table.mean().idxmin()] if test.combine == "strongest" else table.mean(axis=1)
    return _not_empty(combined)


def _not_empty(values: Strata) -> Strata:
    return {model: runs for model, runs in values.items() if len(runs)}
