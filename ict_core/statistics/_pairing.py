"""Pairing by seed: which runs of two arms stand beside each other, the same for every contrast, claim and figure."""

from collections.abc import Collection, Sequence

import pandas as pd

from ict_core.statistics._names import AVERAGE

_OPPOSITE = {"better": "worse", "worse": "better"}
_TURNED = {
    "variant": "baseline",
    "baseline": "variant",
    "low": "high",
    "high": "low",
    "two_way_low": "two_way_high",
    "two_way_high": "two_way_low",
}
_SIGNED = ("difference", "low", "high", "two_way_low", "two_way_high")


def shared_seeds(ours: Sequence[int], theirs: Collection[int]) -> list[int]:
    """The seeds that both have, in the order of `ours`: the runs with these are compared."""
    return [seed for seed in ours if seed in theirs]


def paired_differences(ours: pd.Series, theirs: pd.Series) -> pd.Series:
    """Ours less theirs, run by run, from series by seed; the seeds of which both have a value (not NaN), rising."""
    return (ours - theirs).dropna().sort_index()


def both_ways(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Contrasts of the average and each one turned round, so that a pair is found whichever of the two comes first.

    Args:
        contrasts: a frame of `schemas.CONTRASTS`.

    Returns:
        The same columns, one row a (model, variant, baseline, metric): differences, intervals and verdicts are those
        of variant - baseline; what does not tell the two apart, such as the p values, is left as it was.
    """
    ours = contrasts[contrasts["benchmark"] == AVERAGE]
    turned = ours.rename(columns=_TURNED)[list(ours.columns)]
    turned = turned.assign(verdict=turned["verdict"].replace(_OPPOSITE), **{name: -turned[name] for name in _SIGNED})
    return pd.concat([ours, turned], ignore_index=True).drop_duplicates(["model", "variant", "baseline", "metric"])
