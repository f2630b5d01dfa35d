"""The level of every method: its mean with an interval for new problems and one for these problems."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ict_core.statistics._arms import Arm, Arms, Shown, each_arm
from ict_core.statistics._intervals import Estimate, over_runs
from ict_core.statistics._names import AVERAGE
from ict_core.statistics._schemas import LEVELS
from ict_core.statistics._two_way import over_problems, two_way, wilson


def _interval(arm: Arm, benchmark: str, one_sample: bool) -> tuple[Estimate, str]:
    """The interval for new problems and how it was made, one of `schemas.INTERVALS`."""
    blocks = arm.of(benchmark)
    if len(arm.seeds) > 1:
        level, name = two_way(blocks), "two-way"
    elif one_sample and benchmark != AVERAGE:
        level, name = wilson(blocks[0][0]), "wilson"
    else:
        level, name = over_problems([block[0] for block in blocks]), "problems"
    return level, "none" if np.isnan(level.low) else name


def level_frame(arms: Mapping[str, Arms], shown: Shown, one_sample: frozenset[tuple[str, str, str]]) -> pd.DataFrame:
    """The levels of every shown variant on every benchmark and their average.

    With several runs the interval is :func:`two_way`, with one run it is over problems, or Wilson's where every
    problem of a benchmark was sampled once; "none" where the values have no spread.

    Args:
        arms: of each metric.
        one_sample: the (model, variant, benchmark) of which every problem has one graded sample.

    Returns:
        A frame of `schemas.LEVELS`.
    """
    rows = []
    for model, variant, metric, arm in each_arm(arms, shown):
        for benchmark in arm.benchmarks:
            level, interval = _interval(arm, benchmark, (model, variant, benchmark) in one_sample)
            seeds = over_runs(arm.runs(benchmark))
            rows.append(
                {
                    "model": model,
                    "variant": variant,
                    "benchmark": benchmark,
                    "metric": metric,
                    "mean": float(level.mean),
                    "low": float(level.low),
                    "high": float(level.high),
                    "df": float(level.df),
                    "interval": interval,
                    "seeds_low": float(seeds.low),
                    "seeds_high": float(seeds.high),
                    "seeds": len(arm.seeds),
                    "problems": sum(block.shape[1] for block in arm.of(benchmark)),
                }
            )
    return pd.DataFrame(rows, columns=list(LEVELS))
