"""Pairing by seed: which runs of two arms stand beside each other, the same for every contrast, claim and figure."""

from collections.abc import Collection, Sequence

import pandas as pd


def shared_seeds(ours: Sequence[int], theirs: Collection[int]) -> list[int]:
    """The seeds that both have, in the order of `ours`: the runs with these are compared."""
    return [seed for seed in ours if seed in theirs]


def paired_differences(ours: pd.Series, theirs: pd.Series) -> pd.Series:
    """Ours less theirs, run by run, from series by seed; the seeds of which both have a value (not NaN), rising."""
    return (ours - theirs).dropna().sort_index()
