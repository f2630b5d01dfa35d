"""The values that claims are about: one per run of each model, from the frames of the statistics."""

from collections.abc import Mapping, Sequence

import pandas as pd

from ict_core.evidence.claims import DifferenceTest, Largest, Measure
from ict_core.evidence.measures import runs_of
from ict_core.statistics.pairing import paired_differences
from ict_core.statistics.schemas import AVERAGE, BASE, Metric

Strata = dict[str, pd.Series]
"""For each model that ran what a test compares: one value per run, indexed by seed, ascending."""


def values_of(
    test: DifferenceTest | Measure, runs: pd.DataFrame, quantities: pd.DataFrame, mirrors: Mapping[str, str]
) -> Strata:
    """The values that a test is about (see :class:`LedgerFrames`); empty if its variants or benchmarks never ran."""
    if isinstance(test, Measure):
        arms = [arm for arm in (test.of, test.minus) if arm is not None]
        values, *subtracted = (_by_model(runs_of(quantities, test.quantity, arm)) for arm in arms)
    else:
        metrics = [metric for metric in (test.metric, test.minus_metric) if metric is not None]
        values, *subtracted = (_gains(test, runs, benchmarks_of(test, mirrors), metric) for metric in metrics)
    for less in subtracted:
        pairs = together([values, less])
        values = _not_empty({m: (pair[0] - pair[1]).sort_index() for m, pair in pairs.items()})  # NaN stays NaN
    return values


def together(strata: Sequence[Strata]) -> dict[str, pd.DataFrame]:
    """For each model that all of the strata have: a column for each of them, a row per seed that all have."""
    models = [model for model in strata[0] if all(model in values for values in strata)]
    tables = {m: pd.concat([values[m] for values in strata], axis=1, join="inner", ignore_index=True) for m in models}
    return {model: table for model, table in tables.items() if len(table)}


def differences_of(runs: pd.DataFrame, ours: str, less: str, metric: Metric) -> Strata:
    """The differences on the average, for each model that ran both variants, paired by seed (base model)."""
    return _paired(_levels(runs, [AVERAGE], metric), ours, less)


def benchmarks_of(test: DifferenceTest, mirrors: Mapping[str, str]) -> list[str]:
    """The study's benchmarks over which a difference is a mean: the average, or the stand-ins of the paper's."""
    if test.benchmarks is None:
        return [AVERAGE]
    return [name for name, paper in mirrors.items() if paper in test.benchmarks]


def room(test: DifferenceTest, runs: pd.DataFrame, mirrors: Mapping[str, str]) -> float:
    """The largest possible difference: how far the baseline nearest to the limit, 100 % or 0, is from it."""
    levels = _levels(runs, benchmarks_of(test, mirrors), test.metric).groupby(level=["model", "variant"]).mean()
    levels = levels[levels.index.get_level_values("variant").isin(test.against)]
    return float(1 - levels.max() if test.direction == "higher" else levels.min())


def searched(test: Largest, runs: pd.DataFrame) -> dict[tuple[str, str, str], pd.Series]:
    """(model, baseline, benchmark) -> the paired differences of the runs, for all that :class:`Largest` searches.

    A difference of one run, which has no spread, is left out unless there are no others.
    """
    gains = {}
    for benchmark in runs.loc[runs["benchmark"] != AVERAGE, "benchmark"].unique():
        levels = _levels(runs, [benchmark], test.metric)
        for baseline in test.against:
            for model, gain in _paired(levels, test.ours, baseline).items():
                gains[model, baseline, str(benchmark)] = gain
    return {key: gain for key, gain in gains.items() if len(gain) > 1} or gains


def _levels(runs: pd.DataFrame, benchmarks: Sequence[str], metric: str) -> pd.Series:
    """The mean over the benchmarks, indexed by (model, variant, seed)."""
    rows = runs[runs["benchmark"].isin(benchmarks) & (runs["metric"] == metric)]
    return rows.groupby(["model", "variant", "seed"], sort=False)["value"].mean()


def _by_model(values: pd.Series) -> Strata:
    """By model, the values indexed by seed alone; `values` are those of a variant, indexed by (model, seed)."""
    return {str(model): of_model.droplevel("model") for model, of_model in values.groupby(level="model", sort=False)}


def _paired(levels: pd.Series, ours: str, baseline: str) -> Strata:
    """ours - baseline for the seeds that both ran; a base model that was evaluated once is subtracted from each."""
    variants = levels.index.get_level_values("variant")
    ours_runs, base_runs = (_by_model(levels[variants == name].droplevel("variant")) for name in (ours, baseline))
    gains = {}
    for model in [model for model in ours_runs if model in base_runs]:
        values, subtracted = ours_runs[model], base_runs[model]
        if baseline == BASE and len(subtracted) == 1:
            subtracted = pd.Series(subtracted.iloc[0], index=values.index)
        gains[model] = paired_differences(values, subtracted)
    return _not_empty(gains)


def _gains(test: DifferenceTest, runs: pd.DataFrame, benchmarks: Sequence[str], metric: str) -> Strata:
    """The gain over one baseline, over the mean of several, or over that with the highest mean (the strongest)."""
    levels = _levels(runs, benchmarks, metric)
    tables = together([_paired(levels, test.ours, baseline) for baseline in test.against])
    if test.combine == "strongest":
        return {model: table[table.mean().idxmin()] for model, table in tables.items()}
    return {model: table.mean(axis=1) for model, table in tables.items()}


def _not_empty(values: Strata) -> Strata:
    """The models of which some run has a value."""
    return {model: runs for model, runs in values.items() if runs.notna().any()}
