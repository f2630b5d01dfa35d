"""The level of every method: its mean with an interval for new problems and one for these problems."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ict_core.statistics.arms import Arm, Arms
from ict_core.statistics.intervals import Estimate, over_runs
from ict_core.statistics.names import AVERAGE
from ict_core.statistics.one_run import over_problems, wilson
from ict_core.statistics.schemas import LEVELS
from ict_core.statistics.two_way import two_way


def _interval(arm: Arm, benchmark: str, one_sample: bool) -> tuple[Estimate, str]:
    """The interval for new problems and how it was made, one of `schemas.INTERVALS`."""
    blocks = arm.of(benchmark)
    if len(arm.seeds) > 1:
        found, name = two_way(blocks), "two-way"
    elif one_sample and benchmark != AVERAGE:
        found, name = wilson(blocks[0][0]), "wilson"
    else:
        found, name = over_problems([block[0] for block in blocks]), "problems"
    return found, "none" if np.isnan(found.low) else name


def level_frame(
    arms: Mapping[str, Arms], shown: Mapping[str, Sequence[str]], one_sample: frozenset[tuple[str, str, str]]
) -> pd.DataFrame:
    """The levels of every shown variant on every benchmark and their average.

    With several runs the interval is :func:`two_way`, with one run it is over problems, or Wilson's where every
    problem of a benchmark was sampled once; "none" where the values have no spread.

    Args:
        arms: of each metric.
        shown: of each model its variants in the order in which they are shown.
        one_sample: the (model, variant, benchmark) of which every problem has one graded sample.

    Returns:
        A frame of `schemas.LEVELS`.
    """
    rows = []
    for model, variants in shown.items():
        for variant in variants:
            for metric, of_metric in arms.items():
                arm = of_metric[model, variant]
                for benchmark in arm.benchmarks:
                    found, interval = _interval(arm, benchmark, (model, variant, benchmark) in one_sample)
                    seeds = over_runs(arm.runs(benchmark))
                    problems = sum(block.shape[1] for block in arm.of(benchmark))
                    limits = (found.mean, found.low, found.high, found.df)
                    by_seeds = (seeds.low, seeds.high)
                    key = (model, variant, benchmark, metric)
                    rows.append((*key, *map(float, limits), interval, *map(float, by_seeds), len(arm.seeds), problems))
    return pd.DataFrame(rows, columns=list(LEVELS))
