"""The tests whose false positives are measured: those by which the harness decides or shows, and an unsafe one."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ict_core.calibration.intervals import PRIMARY, SECOND, UNSAFE, Block, Question, runs_of
from ict_core.calibration.simulate import Draw
from ict_core.statistics.deciding import ALPHA, SIGN_FLIP_FROM
from ict_core.statistics.equivalence import two_one_sided
from ict_core.statistics.intervals import over_runs
from ict_core.statistics.one_run import over_problems
from ict_core.statistics.permutation import sign_flip, signed_rank, two_sample
from ict_core.statistics.stratified import stratified_t
from ict_core.statistics.two_way import two_way
from ict_core.statistics.welch import welch

SAME, MARGIN = "two arms of one method", "a difference on the margin"
FAMILY, STRATA = "12 contrasts without a difference", "three models without a difference"
MODELS, OF_MODEL = 3, 5  # the family: each model has a method and four baselines, all of them the same
Rejections = Iterator[tuple[Question, NDArray[np.bool_]]]


def _question(method: str, truth: str, role: str) -> Question:
    return Question("false positives", method, truth, role)


def difference_tests(drawn: Draw, arms: tuple[int, int], permutation: bool) -> Rejections:
    """Tests at 5 % of two arms that are the same method.

    Args:
        drawn: a batch of repetitions.
        arms: which two.
        permutation: whether the two-sample permutation is measured too (at 10 runs an arm it is slow).

    Yields:
        A question and whether each repetition was rejected, shape (repetitions,); a test that cannot be made does not
        reject.
    """
    ours, theirs = (runs_of(drawn.blocks, arm) for arm in arms)
    paired = [b[:, arms[0]] - b[:, arms[1]] for b in drawn.blocks]
    p = {
        ("paired t", PRIMARY): over_runs(ours - theirs).p,
        ("sign-flip", PRIMARY): sign_flip(ours - theirs),
        ("wilcoxon", SECOND): signed_rank(ours - theirs),
        ("welch", SECOND): welch(ours, theirs).p,
        ("two-way t", SECOND): two_way(paired).p,
        ("t over problems", UNSAFE): over_problems([b.mean(axis=-2) for b in paired]).p,
    }
    if permutation:
        p["permutation", SECOND] = two_sample(ours, theirs)
    for (method, role), values in p.items():
        yield _question(method, SAME, role), values < ALPHA


def equivalence_tests(drawn: Draw, arms: tuple[int, int], margin: float) -> Rejections:
    """Two one-sided tests within +-margin of two arms that differ by the margin: declaring them equivalent is wrong."""
    gap = over_runs(runs_of(drawn.blocks, arms[0]) - runs_of(drawn.blocks, arms[1]))
    p = two_one_sided(gap.mean, gap.se, gap.df, -margin, margin)
    yield _question("two one-sided t", MARGIN, PRIMARY), p < ALPHA


def smallest_by_holm(p: Block) -> Block:
    """The smallest of each family's p values after Holm's correction: it rejects nothing where this is not below 5 %.

    Args:
        p: shape (families, tests).

    Returns:
        Shape (families,).
    """
    return np.minimum(p.shape[-1] * p.min(axis=-1), 1.0)


def family_tests(drawn: Draw) -> Rejections:
    """Holm's family of 12 contrasts (three models, a method against four baselines) and the mean over the models.

    Args:
        drawn: 15 arms of one method: five of the first model, and so on; rejected where any contrast is.
    """
    runs = np.stack([runs_of(drawn.blocks, arm) for arm in range(MODELS * OF_MODEL)], axis=1)
    of_models = runs.reshape(len(runs), MODELS, OF_MODEL, -1)
    gaps = of_models[:, :, :1] - of_models[:, :, 1:]
    tested = gaps.reshape(len(runs), MODELS * (OF_MODEL - 1), -1)
    by_method: dict[str, Block] = {"paired t, Holm": over_runs(tested).p}
    if tested.shape[-1] >= SIGN_FLIP_FROM:
        by_method["sign-flip, Holm"] = sign_flip(tested)
    for method, p in by_method.items():
        yield _question(method, FAMILY, PRIMARY), smallest_by_holm(p) < ALPHA
    uncorrected = by_method["paired t, Holm"] < ALPHA
    yield _question("paired t, uncorrected", FAMILY, UNSAFE), np.asarray(uncorrected.any(axis=1))
    p_strata = np.array([stratified_t(list(models)).p for models in gaps[:, :, 0]])
    yield _question("stratified t", STRATA, PRIMARY), p_strata < ALPHA
