"""Pairing: names of cells and variants, runs of two arms by seed, contrasts read in either direction."""

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
    """The series and percent of each variant that keeps a share of the tokens, by series, then by percent.

    Series are in order of appearance. A series is a variant's name without the number at its end.
    """
    shares = {v: (re.sub(r"-\d+$", "", v), percents[v]) for v in variants if v in percents}
    series = [name for name, _ in shares.values()]
    return dict(sorted(shares.items(), key=lambda item: (series.index(item[1][0]), item[1][1])))


def shown_variants(frame: pd.DataFrame, model: str, variants: Sequence[str]) -> list[str]:
    """The variants that a model ran, in the order in which they are shown: base first, then those of `variants`."""
    ran = set(frame.loc[frame["model"] == model, "variant"].unique())
    return [v for v in dict.fromkeys([BASE, *variants]) if v in ran]


def limits_by(means: pd.DataFrame, key: Sequence[str]) -> dict[tuple[Any, ...], tuple[float, float, float]]:
    """The (mean, low, high) of each row, by the row's values in the columns `key`."""
    keys, limits = (means[list(names)].itertuples(index=False, name=None) for names in (key, ["mean", "low", "high"]))
    return dict(zip(keys, limits, strict=True))


def span(numbers: pd.Series) -> str:
    """The lowest and the highest of whole numbers: "3", or "2 to 3" where they differ."""
    lowest, highest = int(numbers.min()), int(numbers.max())
    return f"{highest}" if lowest == highest else f"{lowest} to {highest}"


def seed_range(numbers: pd.Series, noun: str = "training seed") -> str:
    """The numbers of seeds of some arms in words: "3 training seeds", or "2 to 3 training seeds" where they differ."""
    if numbers.empty:
        return f"no {noun}s"
    return f"{span(numbers)} {noun}{'' if numbers.max() == 1 else 's'}"


_OPPOSITE = {"better": "worse", "worse": "better"}
_SWAPPED = {"variant": "baseline", "low": "high", "two_way_low": "two_way_high"}
_TURNED = _SWAPPED | {other: name for name, other in _SWAPPED.items()}
_SIGNED = ("difference", "low", "high", "two_way_low", "two_way_high")


def shared_seeds(ours: Sequence[int], theirs: Collection[int]) -> list[int]:
    """The seeds that both have, in the order of `ours`: runs with these seeds are compared."""
    return [seed for seed in ours if seed in theirs]


def paired_differences(ours: pd.Series, theirs: pd.Series) -> pd.Series:
    """`ours` - `theirs`, two series by seed, for the seeds at which both have a value (not NaN), ascending."""
    return (ours - theirs).dropna().sort_index()


def both_ways(contrasts: pd.DataFrame) -> pd.DataFrame:
    """The contrasts on the average in both directions, so that a pair is found whichever variant comes first.

    The columns are those of `statistics.schemas.CONTRASTS`, with one row per (model, variant, baseline, metric).
    Differences, intervals and verdicts are those of variant - baseline. Columns without a direction, such as p, do not
    change.
    """
    average = contrasts[contrasts["benchmark"] == AVERAGE]
    mirror = average.rename(columns=_TURNED)[list(average.columns)]
    mirror = mirror.assign(verdict=mirror["verdict"].replace(_OPPOSITE), **{name: -mirror[name] for name in _SIGNED})
    return pd.concat([average, mirror], ignore_index=True).drop_duplicates(["model", "variant", "baseline", "metric"])
