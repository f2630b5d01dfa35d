"""The intervals whose coverage is measured: those that the harness shows, and popular ones that it warns of."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats.proportion import proportion_confint

from ict_core.calibration.simulate import Draw
from ict_core.statistics.aggregate import interquartile_difference, probability_of_improvement, stratified_bootstrap
from ict_core.statistics.bootstrap import crossed_bootstrap
from ict_core.statistics.calibrated import NEW, NONE
from ict_core.statistics.intervals import LEVEL, over_runs
from ict_core.statistics.one_run import over_problems, wilson
from ict_core.statistics.two_way import two_way
from ict_core.statistics.welch import welch

PRIMARY, SECOND, OTHER, UNSAFE = ROLES = ("primary", "second view", "other truth", "unsafe")
THESE = "these problems"
RESAMPLES = 500  # of a bootstrap within the calibration
HELD = 4_000_000  # numbers held at once
Block = NDArray[np.float64]


class Question(NamedTuple):
    """What is measured: a quantity, the method that speaks of it, the truth it is held against, and its role.

    Roles: "primary", what the harness decides by; "second view", shown beside it with its measured coverage;
    "other truth", a sound interval read for the truth that it does not speak of; "unsafe", popular and not used here.
    """

    quantity: str
    method: str
    truth: str
    role: str


Hits = Iterator[tuple[Question, NDArray[np.bool_]]]


def covers(low: Block, high: Block, truth: Block | float) -> NDArray[np.bool_]:
    """Whether each interval holds the truth; an interval that does not exist (NaN) does not."""
    return (low <= truth) & (truth <= high)


def runs_of(blocks: list[Block], arm: int) -> Block:
    """An arm's run means on the average of the benchmarks, shape (repetitions, runs)."""
    return np.mean([b[:, arm].mean(axis=-1) for b in blocks], axis=0)


def run_scores(blocks: list[Block], arm: int) -> Block:
    """An arm's run means on every benchmark, shape (repetitions, runs, benchmarks)."""
    return np.stack([b[:, arm].mean(axis=-1) for b in blocks], axis=-1)


def _of_both_truths(
    quantity: str, method: str, limits: tuple[Block, Block], truths: dict[str, Block | float], roles: tuple[str, str]
) -> Hits:
    for (truth, value), role in zip(truths.items(), roles, strict=True):
        yield Question(quantity, method, truth, role), covers(*limits, value)


def difference_intervals(drawn: Draw, arms: tuple[int, int], generator: np.random.Generator, popular: bool) -> Hits:
    """Intervals for the difference of arms[0] - arms[1], paired by run.

    Args:
        drawn: a batch of repetitions.
        arms: which two.
        generator: for the bootstraps.
        popular: whether the bootstraps and the unsafe intervals are measured too.

    Yields:
        A question and whether each repetition's interval holds the truth, shape (repetitions,).
    """
    ours, theirs = arms
    truths = {THESE: drawn.these[:, ours] - drawn.these[:, theirs], NEW: drawn.new[ours] - drawn.new[theirs]}
    paired = [b[:, ours] - b[:, theirs] for b in drawn.blocks]
    a, b = (runs_of(drawn.blocks, arm) for arm in arms)
    t, both, unpaired = over_runs(a - b), two_way(paired), welch(a, b)
    yield from _of_both_truths("difference", "t over seeds", (t.low, t.high), truths, (PRIMARY, OTHER))
    yield from _of_both_truths("difference", "two-way", (both.low, both.high), truths, (OTHER, PRIMARY))
    yield from _of_both_truths("difference", "welch", (unpaired.low, unpaired.high), truths, (SECOND, SECOND))
    if not popular:
        return
    flat = over_problems([b.mean(axis=-2) for b in paired])
    yield from _of_both_truths("difference", "t over problems", (flat.low, flat.high), truths, (UNSAFE, UNSAFE))
    for method, runs, problems in (
        ("crossed bootstrap", True, True),
        ("bootstrap over seeds", True, False),
        ("bootstrap over problems", False, True),
    ):
        boot = crossed_bootstrap(paired, generator, RESAMPLES, runs=runs, problems=problems)
        yield from _of_both_truths("difference", method, (boot.low, boot.high), truths, (UNSAFE, UNSAFE))


def aggregate_intervals(drawn: Draw, arms: tuple[int, int], generator: np.random.Generator) -> Hits:
    """Intervals of the aggregates for two arms of one method, whose truths are known exactly: 0.5 and 0."""
    ours, theirs = (run_scores(drawn.blocks, arm) for arm in arms)
    repetitions, runs, benchmarks = ours.shape
    pieces = -(-repetitions * RESAMPLES * runs**2 * benchmarks // HELD)  # so many that no pairing of runs is too large
    for method, statistic, truth in (
        ("probability of improvement", probability_of_improvement, 0.5),
        ("interquartile mean", interquartile_difference, 0.0),
    ):
        held = []
        for a, b in zip(np.array_split(ours, pieces), np.array_split(theirs, pieces), strict=True):
            boot = stratified_bootstrap(statistic, a, b, generator, RESAMPLES)
            held.append(covers(boot.low, boot.high, truth))
        yield Question("difference", method, NONE, SECOND), np.concatenate(held)


def level_intervals(drawn: Draw, arm: int, generator: np.random.Generator, popular: bool) -> Hits:
    """Intervals for the level of one arm of several runs; arguments and result as in `difference_intervals`."""
    truths: dict[str, Block | float] = {THESE: drawn.these[:, arm], NEW: float(drawn.new[arm])}
    scores = [b[:, arm] for b in drawn.blocks]
    t, both = over_runs(runs_of(drawn.blocks, arm)), two_way(scores)
    yield from _of_both_truths("level", "two-way", (both.low, both.high), truths, (OTHER, PRIMARY))
    yield from _of_both_truths("level", "t over seeds", (t.low, t.high), truths, (SECOND, OTHER))
    if not popular:
        return
    flat = over_problems([b.mean(axis=-2) for b in scores])
    yield from _of_both_truths("level", "t over problems", (flat.low, flat.high), truths, (UNSAFE, UNSAFE))
    boot = crossed_bootstrap(scores, generator, RESAMPLES)
    yield from _of_both_truths("level", "crossed bootstrap", (boot.low, boot.high), truths, (UNSAFE, UNSAFE))


def one_run_intervals(drawn: Draw, samples: int) -> Hits:
    """Intervals for the level of the only run of the only arm, a model that was not trained.

    Args:
        drawn: a batch of one arm and one run.
        samples: of a problem of the first benchmark. Wilson's interval is measured on single benchmarks only: an
            average of benchmarks is no count of trials.
    """
    scores = [b[:, 0, 0] for b in drawn.blocks]
    truth = float(drawn.new[0])
    t = over_problems(scores)
    kind = "level of one run" + (", n = 1" if samples == 1 else "")
    yield Question(kind, "t over problems", NEW, PRIMARY), covers(t.low, t.high, truth)
    if len(scores) > 1:
        return
    if samples == 1:
        share = wilson(scores[0])
        yield Question(kind, "wilson", NEW, PRIMARY), covers(share.low, share.high, truth)
        return
    problems = scores[0].shape[-1]
    for method, trials in (("wilson, problems as trials", problems), ("wilson, samples as trials", problems * samples)):
        limits = proportion_confint(scores[0].mean(axis=-1) * trials, trials, alpha=1 - LEVEL, method="wilson")
        yield Question(kind, method, NEW, UNSAFE), covers(np.asarray(limits[0]), np.asarray(limits[1]), truth)
