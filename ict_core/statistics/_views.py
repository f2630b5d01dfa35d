"""Second views of one comparison: what other common methods say, each with its measured coverage beside it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ict_core.statistics._bootstrap import (
    RESAMPLES,
    crossed_bootstrap,
    interquartile_difference,
    probability_of_improvement,
    stratified_bootstrap,
)
from ict_core.statistics._deciding import p_of_sign_flip
from ict_core.statistics._intervals import Floats, welch
from ict_core.statistics._permutation import sign_flip_floor, signed_rank, two_sample, two_sample_floor
from ict_core.statistics._schemas import VIEWS
from ict_core.statistics.calibrated import coverage

Row = dict[str, str | float]
AGGREGATES = {
    "probability of improvement": probability_of_improvement,
    "interquartile mean": interquartile_difference,
}


class Contrast(NamedTuple):
    """Whose second views are taken: variant - baseline of a model, under a metric."""

    model: str
    variant: str
    baseline: str
    metric: str


def _check(ours: Sequence[Floats], theirs: Sequence[Floats], contrast: Contrast) -> None:
    shapes = [[a.shape for a in arm] for arm in (ours, theirs)]
    if not ours or shapes[0] != shapes[1] or len({a.shape[0] for a in ours if a.ndim == 2}) != 1:
        raise ValueError(
            f"{contrast.model}: {contrast.variant} against {contrast.baseline}: second views need the same seeds and "
            f"problems in both arms, one array (seeds, problems) a benchmark, not {shapes[0]} and {shapes[1]}"
        )


def _tests(ours: Floats, theirs: Floats, generator: np.random.Generator) -> dict[str, Row]:
    """p and its floor of the exact tests of two arms' runs, shape (seeds,); no p with one seed."""
    gaps, seeds = ours - theirs, ours.size
    tests = {
        "sign-flip": (sign_flip_floor(seeds), lambda: p_of_sign_flip(gaps)),
        "permutation": (two_sample_floor(seeds, seeds), lambda: two_sample(ours, theirs, generator)),
        "wilcoxon": (sign_flip_floor(seeds), lambda: signed_rank(gaps, generator)),
    }
    return {view: {"p": float(p()) if seeds > 1 else np.nan, "p_floor": floor} for view, (floor, p) in tests.items()}


def second_views(
    contrast: Contrast,
    ours: Sequence[Floats],
    theirs: Sequence[Floats],
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
) -> list[Row]:
    """One row a view of a contrast on the average of the benchmarks.

    The exact tests have p and its floor, the others an interval. Nothing but the mean differences exists with one
    seed. The estimate is the mean difference, but for the probability of improvement (0.5: no difference) and the
    difference of interquartile means.

    Args:
        contrast: whose variant's scores are `ours`, its baseline's `theirs`.
        ours: one array (seeds, problems) a benchmark, shares, finite, paired by seed and problem with `theirs`.
        generator: of the bootstraps, and of the tests whose arrangements are too many to count.

    Returns:
        Rows of `schemas.VIEWS`; `coverage` is that of the view's nominal 95 % interval as the calibration found it.

    Raises:
        ValueError: no benchmark, or arrays that do not fit each other.
    """
    _check(ours, theirs, contrast)
    a, b = (np.stack([block.mean(axis=1) for block in arm], axis=1) for arm in (ours, theirs))  # (seeds, benchmarks)
    a_runs, b_runs = a.mean(axis=1), b.mean(axis=1)
    seeds, problems = a_runs.size, [block.shape[1] for block in ours]
    unpaired = welch(a_runs, b_runs)
    views = _tests(a_runs, b_runs, generator)
    views["welch"] = {"low": float(unpaired.low), "high": float(unpaired.high), "p": float(unpaired.p)}
    views["crossed bootstrap"] = {}
    if seeds > 1:
        crossed = crossed_bootstrap([x - y for x, y in zip(ours, theirs, strict=True)], generator, resamples)
        views["crossed bootstrap"] = {"low": float(crossed.low), "high": float(crossed.high)}
    for view, statistic in AGGREGATES.items():
        views[view] = {"estimate": float(statistic(a, b))}
        if seeds > 1:
            resampled = stratified_bootstrap(statistic, a, b, generator, resamples)
            views[view] |= {"low": float(resampled.low), "high": float(resampled.high)}
    gap = float((a_runs - b_runs).mean())
    common: Row = {**dict.fromkeys(VIEWS, np.nan), **contrast._asdict(), "estimate": gap}
    return [
        common | {"view": view, "coverage": coverage(view, problems, seeds)} | values for view, values in views.items()
    ]
