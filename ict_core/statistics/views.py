"""Second views of one comparison: what other common methods say, each with its measured coverage beside it."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ict_core.statistics.aggregate import interquartile_difference, probability_of_improvement, stratified_bootstrap
from ict_core.statistics.bootstrap import RESAMPLES, crossed_bootstrap
from ict_core.statistics.calibrated import coverage
from ict_core.statistics.deciding import p_of_sign_flip
from ict_core.statistics.permutation import sign_flip_floor, signed_rank, two_sample, two_sample_floor
from ict_core.statistics.schemas import VIEWS
from ict_core.statistics.welch import welch

Row = dict[str, str | float]


def _check(ours: Sequence[NDArray[np.float64]], theirs: Sequence[NDArray[np.float64]], pair: str) -> None:
    shapes = [[a.shape for a in arm] for arm in (ours, theirs)]
    if not ours or shapes[0] != shapes[1] or len({a.shape[0] for a in ours if a.ndim == 2}) != 1:
        raise ValueError(
            f"{pair}: second views need the same seeds and problems in both arms, one array (seeds, problems) a "
            f"benchmark, not {shapes[0]} and {shapes[1]}"
        )


def second_views(
    model: str,
    variant: str,
    baseline: str,
    metric: str,
    ours: Sequence[NDArray[np.float64]],
    theirs: Sequence[NDArray[np.float64]],
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
) -> list[Row]:
    """One row a view of variant - baseline on the average of the benchmarks.

    The exact tests have p and its floor, the others an interval. Nothing but the mean differences exists with one
    seed. The estimate is the mean difference, but for the probability of improvement (0.5: no difference) and the
    difference of interquartile means.

    Args:
        model: for the rows.
        variant: whose scores are `ours`.
        baseline: whose scores are `theirs`.
        metric: for the rows.
        ours: one array (seeds, problems) a benchmark, shares, finite.
        theirs: the same shapes; rows are paired by seed, columns by problem.
        generator: of the bootstraps, and of the tests whose arrangements are too many to count.
        resamples: of each bootstrap.

    Returns:
        Rows of `schemas.VIEWS`; `coverage` is that of the view's nominal 95 % interval as the calibration found it.

    Raises:
        ValueError: no benchmark, or arrays that do not fit each other.
    """
    _check(ours, theirs, f"{model}: {variant} against {baseline}")
    paired = [a - b for a, b in zip(ours, theirs, strict=True)]
    a, b = (np.stack([block.mean(axis=1) for block in arm], axis=1) for arm in (ours, theirs))  # (seeds, benchmarks)
    a_runs, b_runs = a.mean(axis=1), b.mean(axis=1)
    gaps = a_runs - b_runs
    seeds, problems = gaps.size, [block.shape[1] for block in paired]
    rows: list[Row] = []

    def add(view: str, estimate: float | None = None, **values: float) -> None:
        row: Row = dict.fromkeys(VIEWS, float("nan"))
        row |= {"model": model, "variant": variant, "baseline": baseline, "metric": metric, "view": view}
        row["estimate"] = float(gaps.mean()) if estimate is None else estimate
        rows.append({**row, "coverage": coverage(view, problems, seeds), **values})

    def test(view: str, p: Callable[[], NDArray[np.float64]], floor: float) -> None:
        add(view, p=float(p()) if seeds > 1 else float("nan"), p_floor=floor)

    test("sign-flip", lambda: p_of_sign_flip(gaps), sign_flip_floor(seeds))
    test("permutation", lambda: two_sample(a_runs, b_runs, generator), two_sample_floor(seeds, seeds))
    test("wilcoxon", lambda: signed_rank(gaps, generator), sign_flip_floor(seeds))
    unpaired = welch(a_runs, b_runs)
    add("welch", low=float(unpaired.low), high=float(unpaired.high), p=float(unpaired.p))
    if seeds == 1:
        add("crossed bootstrap")
        add("probability of improvement", float(probability_of_improvement(a, b)))
        add("interquartile mean", float(interquartile_difference(a, b)))
        return rows
    crossed = crossed_bootstrap(paired, generator, resamples)
    add("crossed bootstrap", low=float(crossed.low), high=float(crossed.high))
    for view, statistic in (
        ("probability of improvement", probability_of_improvement),
        ("interquartile mean", interquartile_difference),
    ):
        found = stratified_bootstrap(statistic, a, b, generator, resamples)
        add(view, float(found.estimate), low=float(found.low), high=float(found.high))
    return rows
