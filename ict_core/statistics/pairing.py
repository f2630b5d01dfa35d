"""What two arms are paired by: cells and variants by name, runs by seed, a contrast read from either side."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from ict_core.statistics.schemas import AVERAGE, BASE
from ict_core.store.layout import cell_folder


def place_of(row: pd.Series) -> str:
    """The cell, model/variant/seed-n, and the problem of a row of scores."""
    return f"{cell_folder(row['model'], row['variant'], row['seed'])}, problem {row['problem']} of {row['benchmark']}"


def shares_kept(variants: Sequence[str], percents: Mapping[str, float]) -> dict[str, tuple[str, float]]:
    """Series and percent of each variant that keeps a share of the tokens; series as they come, percents rising.

    A series is a variant's name without a number at its end.
    """
    shares = {v: (re.sub(r"-\d+$", "", v), percents[v]) for v in variants if v in percents}
    series = [name for name, _ in shares.values()]
    return dict(sorted(shares.items(), key=lambda item: (series.index(item[1][0]), item[1][1])))


def shown_variants(frame: pd.DataFrame, model: str, variants: Sequence[str]) -> list[str]:
    """The variants that a model ran, in the order in which they are shown: base first, then as given."""
    ran = set(frame.loc[frame["model"] == model, "variant"].unique())
    return [v for v in dict.fromkeys([BASE, *variants]) if v in ran]


def limits_by(means: pd.DataFrame, key: Sequence[str]) -> dict[tuple[Any, ...], tuple[float, float, float]]:
    """The columns mean, low, high by the values of the key's columns."""
    keys, limits = (means[list(names)].itertuples(index=False, name=None) for names in (key, ["mean", "low", "high"]))
    return dict(zip(keys, limits, strict=True))


def seed_range(numbers: pd.Series, noun: str = "training seed") -> str:
    """Some arms' numbers of seeds in words: "3 training seeds", or "2 to 3 training seeds" where they differ."""
    if numbers.empty:
        return f"no {noun}s"
    least, most = int(numbers.min()), int(numbers.max())
    span = f"{most}" if least == most else f"{least} to {most}"
    return f"{span} {noun}{'' if most == 1 else 's'}"


_OPPOSITE = {"better": "worse", "worse": "better"}
_SWAPPED = {"variant": "baseline", "low": "high", "two_way_low": "two_way_high"}
_TURNED = _SWAPPED | {other: name for name, other in _SWAPPED.items()}
_SIGNED = ("difference", "low", "high", "two_way_low", "two_way_high")


def shared_seeds(ours: Sequence[int], theirs: Collection[int]) -> list[int]:
    """The seeds that both have, in the order of `ours`: the runs with these are compared."""
    return [seed for seed in ours if seed in theirs]


def paired_differences(ours: pd.Series, theirs: pd.Series) -> pd.Series:
    """Ours less theirs, run by run, from series by seed; the seeds of which both have a value (not NaN), rising."""
    return (ours - theirs).dropna().sort_index()


def both_ways(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Contrasts of the average and each one turned round, so that a pair is found whichever of the two comes first.

    The columns stay, those of `statistics.schemas.CONTRASTS`, one row a (model, variant, baseline, metric):
    differences, intervals and verdicts are those of variant - baseline; what does not tell the two apart, such as p, is
    left as it was.
    """
    ours = contrasts[contrasts["benchmark"] == AVERAGE]
    turned = ours.rename(columns=_TURNED)[list(ours.columns)]
    turned = turned.assign(verdict=turned["verdict"].replace(_OPPOSITE), **{name: -turned[name] for name in _SIGNED})
    return pd.concat([ours, turned], ignore_index=True).drop_duplicates(["model", "variant", "baseline", "metric"])
