"""The verifier as a reward: 1 for a correct answer, 0 otherwise."""

from collections.abc import Callable
from typing import Any

from ict_core.grading.pool import GradingPool
from ict_core.records import STATUSES_UNGRADED


def verifier_reward(pool: GradingPool) -> Callable[..., list[float | None]]:
    """A TRL reward function over the dataset's columns ``answer`` and ``answer_type``.

    An answer that the grader could not settle (time, memory, error) gets None: TRL leaves it out of its group's
    baseline and gives it advantage 0, so a failure of the grader is never a wrong answer.
    """

    def verified(completions: list[str], answer: list[str], answer_type: list[str], **_: Any) -> list[float | None]:
        verdicts = pool.grade(list(zip(completions, answer, answer_type, strict=True)))
        return [None if v.status in STATUSES_UNGRADED else float(v.status == "correct") for v in verdicts]

    return verified
