"""Pairing by seed: which runs of two arms stand beside each other, the same for every contrast, claim and figure."""

from collections.abc import Collection, Sequence

import pandas as pd


def shared_seeds(ours: Sequence[int], theirs: Collection[int]) -> list[int]:
    """The seeds that both have, in the order of `ours`: the runs with these are compared."""
    return [seed for seed in ours if seed in theirs]


def paired_differences(ours: pd.Series, theirs: pd.Series) -> pd.Series:
    """Ours less theirs, run by run.

    Args:
        ours, theirs: one value a run, indexed by seed; NaN where a run has none.

    Returns:
        The differences of the seeds of which both have a value, indexed by seed, rising; empty where there is none.
    """
    seeds = shared_seeds(sorted(ours.dropna().index), set(theirs.dropna().index))
    return ours.loc[seeds] - theirs.loc[seeds]
