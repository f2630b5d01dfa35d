"""The level of every arm, with intervals for new problems and for the problems at hand."""

from collections.abc import Collection, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from ict_core.statistics.arms import Arm, Arms, Counts, VariantsByModel, arms_of, difference
from ict_core.statistics.intervals import Estimate, over_problems, over_runs, two_way_level, wilson, with_shared
from ict_core.statistics.metrics import sampling_variance
from ict_core.statistics.schemas import AVERAGE, BASE, GAIN, LEVELS


def _interval(arm: Arm, benchmark: str, one_sample: bool) -> tuple[Estimate, str]:
    """The interval for new problems, and the name of its method as in the column `interval` of `LEVELS`."""
    blocks = arm.of(benchmark)
    if len(arm.seeds) > 1:
        level, name = two_way_level(blocks), "two-way"
    elif one_sample and benchmark != AVERAGE:
        level, name = wilson(blocks[0][0]), "wilson"
    else:
        level, name = over_problems([block[0] for block in blocks]).of_share(), "problems"
    return level, "none" if np.isnan(level.low) else name


def _over_base(arm: Arm, base: Arm | None) -> Arm | None:
    """The difference of a trained arm from the base models that its runs began with.

    A single base model is subtracted from every run. None if `arm` is the base model itself, or there is no base model.
    """
    if base is None or arm is base:
        return None
    rows = [0] * len(arm.seeds) if len(base.seeds) == 1 else [base.seeds.index(seed) for seed in arm.seeds]
    paired = {name: block[rows] for name, block in base.blocks.items()}
    return difference(arm, Arm(base.name, arm.seeds, paired))


def base_variances(
    counts: Mapping[tuple[str, str, str], Counts], metrics: Sequence[str], averaged: Collection[str] | None
) -> dict[tuple[str, str, str], float]:
    """(model, benchmark or average, metric) -> the sampling variance of a single base model's mean, a share squared.

    Where all runs begin with one base model, which was sampled once, their gains over it share that sample's error.
    """
    of_base, found = {key: matrix for key, matrix in counts.items() if key[1] == BASE}, {}
    for metric in metrics:
        for (model, _), noise in arms_of(of_base, metric, averaged, sampling_variance).items():
            for benchmark in noise.benchmarks if len(noise.seeds) == 1 else ():
                blocks = noise.of(benchmark)
                shared = sum(block.mean() / block.size for block in blocks) / len(blocks) ** 2
                found[model, benchmark, metric] = float(shared)
    return found


def level_frame(
    arms: Mapping[str, Arms],
    noise: Mapping[tuple[str, str, str], float],
    variants_by_model: VariantsByModel,
    one_sample: frozenset[tuple[str, str, str]],
) -> pd.DataFrame:
    """A frame of `LEVELS`: every shown variant on every benchmark and on their average, from the arms of each metric.

    The interval of several runs is :func:`two_way_level`. That of one run is over problems, or Wilson's for a (model,
    variant, benchmark) in `one_sample`, whose problems all have one graded sample. It is "none" if the values have no
    spread. The gain is the difference of each run from the base model that it began with; `noise` are the
    :func:`base_variances`.
    """
    pairs = [(model, variant) for model, variants in variants_by_model.items() for variant in variants]
    rows = []
    for (model, variant), (metric, by_variant) in product(pairs, arms.items()):
        arm = by_variant[model, variant]
        over_base = _over_base(arm, by_variant.get((model, BASE)))
        for benchmark in arm.benchmarks:
            level, interval = _interval(arm, benchmark, (model, variant, benchmark) in one_sample)
            seeds = over_runs(arm.runs(benchmark)).of_share()
            row = {
                "model": model,
                "variant": variant,
                "benchmark": benchmark,
                "metric": metric,
                **{name: float(getattr(level, name)) for name in ("mean", "low", "high", "df")},
                "interval": interval,
                "seeds_low": float(seeds.low),
                "seeds_high": float(seeds.high),
                "seeds": len(arm.seeds),
                "problems": sum(block.shape[1] for block in arm.of(benchmark)),
            }
            if over_base is not None:
                shared = noise.get((model, benchmark, metric), 0.0)
                gain = with_shared(over_runs(over_base.runs(benchmark)), shared).of_difference()
                row |= dict(zip(GAIN, map(float, (gain.mean, gain.low, gain.high)), strict=True))
            rows.append(row)
    return pd.DataFrame(rows, columns=list(LEVELS))
