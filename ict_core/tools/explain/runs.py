"""The runs that enter a number: which they are, what each gave, and whether the number follows from them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from ict_core.statistics.names import AVERAGE
from ict_core.statistics.pairing import shared_seeds
from ict_core.statistics.runs import run_frame
from ict_core.tables.declaration import Origin

_DIGITS = 1e-9  # relative: a table has ten significant digits
_NOTHING = 1e-12  # what a table prints as 0


@dataclass(frozen=True)
class Entering:
    """The runs of one variant.

    Attributes:
        model, variant: which.
        seeds: of the runs, ascending.
        values: of each run what the number is made from; None where no score enters.
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
        origin: of the table.
        row: its texts.
        scores: a frame of `records.SCORES`: the whole study's.
    """
    model = row.get("model") or row.get("states") or ""
    if row.get("source") == "paper":  # of the table `paper`
        return []
    variants = list(dict.fromkeys(row[column] for column in origin.runs))
    if not origin.runs and model in set(scores["model"]):  # states of all the model's token samples
        variants = [v for v in dict.fromkeys(scores.loc[scores["model"] == model, "variant"]) if v != "base"]
    found = []
    for variant in variants:
        of_variant = scores[(scores["model"] == model) & (scores["variant"] == variant)]
        if row.get("seed"):
            of_variant = of_variant[of_variant["seed"] == int(row["seed"])]
        seeds = tuple(sorted(int(seed) for seed in of_variant["seed"].unique()))
        if not seeds:  # not run on this model
            return []
        found.append(Entering(model, variant, seeds, _values(row, of_variant)))
    if len(found) > 1 and len(origin.runs) > 1:  # paired: the runs of the seeds that both have
        shared = shared_seeds(found[0].seeds, found[1].seeds)
        found = [_only(runs, shared) for runs in found]
    return found


def _values(row: Mapping[str, str], scores: pd.DataFrame) -> tuple[float, ...] | None:
    """Of each run, by ascending seed, the row's metric on its benchmark."""
    if "metric" not in row:
        return None
    benchmark = row.get("benchmark", AVERAGE)
    runs = run_frame(scores, [row["metric"]])
    of_benchmark = runs[runs["benchmark"] == benchmark].sort_values("seed")
    return tuple(of_benchmark["value"].tolist())


def _only(runs: Entering, seeds: list[int]) -> Entering:
    at = [runs.seeds.index(seed) for seed in seeds]
    values = None if runs.values is None else tuple(runs.values[i] for i in at)
    return Entering(runs.model, runs.variant, tuple(seeds), values)


def recomputed(origin: Origin, row: Mapping[str, str], found: list[Entering]) -> list[Checked]:
    """What of a row's numbers the runs give: `mean` and `difference`, as far as it has them."""
    if not origin.follow or not found:
        return []
    ours, *theirs = (runs.values or () for runs in found)
    values = {"mean": math.fsum(ours) / len(ours)}
    if theirs:
        gaps = [a - b for a, b in zip(ours, theirs[0], strict=True)]
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
