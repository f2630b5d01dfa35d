"""The runs that enter a number: which they are, what each gave, and whether the number follows from them."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from ict_core.statistics import AVERAGE, run_frame, shared_seeds
from ict_core.tables import Origin

_DIGITS = 1e-9  # relative: a table has ten significant digits
_NOTHING = 1e-12  # what a table prints as 0


class Entering(NamedTuple):
    """The runs of one variant, by ascending seed.

    Attributes:
        values: of each run what the number is made from; None where no score enters, or none of that benchmark.
    """

    model: str
    variant: str
    seeds: tuple[int, ...]
    values: tuple[float, ...] | None


class Checked(NamedTuple):
    """A printed value held against what the runs give: its name, what was done, the outcome in words, and as truth."""

    name: str
    done: str
    said: str
    equal: bool


def entering(origin: Origin, row: Mapping[str, str], scores: pd.DataFrame) -> list[Entering]:
    """The runs behind a row of a table, those of the compared variant last.

    Args:
        row: its texts.
        scores: a frame of `records.SCORES`: the whole study's.
    """
    model = row.get("model") or row.get("states") or ""
    if row.get("source") == "paper":  # of the table `paper`
        return []
    scores = scores[scores["model"] == model]
    variants = list(dict.fromkeys(row[column] for column in origin.runs))
    if not origin.runs:  # states of all the model's token samples
        variants = [variant for variant in scores["variant"].unique() if variant != "base"]
    if row.get("seed"):
        scores = scores[scores["seed"] == int(row["seed"])]
    frames = [scores[scores["variant"] == variant] for variant in variants]
    seeds = [sorted(map(int, frame["seed"].unique())) for frame in frames]
    if not all(seeds):  # one was not run on this model
        return []
    if len(frames) > 1 and len(origin.runs) > 1:  # paired: the runs of the seeds that both have
        seeds = [shared_seeds(seeds[0], seeds[1])] * 2
        frames = [frame[frame["seed"].isin(seeds[0])] for frame in frames]
    values = [_values(row, frame) for frame in frames]
    return [Entering(model, *runs) for runs in zip(variants, map(tuple, seeds), values, strict=True)]


def _values(row: Mapping[str, str], scores: pd.DataFrame) -> tuple[float, ...] | None:
    """Of each run, by ascending seed, the row's metric on its benchmark."""
    if "metric" not in row or scores.empty:
        return None
    runs = run_frame(scores, [row["metric"]])
    runs = runs[runs["benchmark"] == row.get("benchmark", AVERAGE)].sort_values("seed")
    return tuple(runs["value"].tolist()) or None


def recomputed(origin: Origin, row: Mapping[str, str], runs: list[Entering]) -> list[Checked]:
    """What of a row's numbers the runs give: `mean` and `difference`, as far as it has them."""
    if not origin.follow or not runs or not runs[0].values:
        return []
    ours = runs[0].values
    values = {"mean": math.fsum(ours) / len(ours)}
    if len(runs) > 1:
        gaps = [a - b for a, b in zip(ours, runs[1].values or (), strict=True)]
        values["difference"] = math.fsum(gaps) / len(gaps)
    return [
        checked(name, f"{value:.10g}", origin.file, row[name], equal=agrees(row[name], value))
        for name, value in values.items()
        if name in row
    ]


def checked(name: str, value: str, source: str, printed: str, *, equal: bool) -> Checked:
    """A value that was computed again from a stored file, beside the printed one."""
    said = "as printed" if equal else f"NOT the printed {printed or '—'}"
    return Checked(name, f"recomputed from {source}: {value}", said, equal)


def agrees(printed: str, value: float) -> bool:
    """Whether a table's text is this number, to the ten digits that a table has."""
    try:
        return math.isclose(float(printed), value, rel_tol=_DIGITS, abs_tol=_NOTHING)
    except ValueError:  # no number stands there
        return False
