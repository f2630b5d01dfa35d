"""The verifier as a reward: 1 for a correct answer, 0 otherwise. And its control: a reward drawn at random."""

import os
from collections.abc import Callable
from typing import Any

from ict_core.grading.pool import GradingPool
from ict_core.seeding import generator
from ict_core.store.records import STATUSES_UNGRADED

Reward = Callable[..., list[float | None]]


def verifier_reward(pool: GradingPool) -> Reward:
    """A TRL reward function over the dataset's columns ``answer`` and ``answer_type``.

    An answer that the grader could not settle (time, memory, error) gets None: TRL leaves it out of its group's
    baseline and gives it advantage 0, so a failure of the grader is never a wrong answer.
    """

    def verified(completions: list[str], answer: list[str], answer_type: list[str], **_: Any) -> list[float | None]:
        verdicts = pool.grade(list(zip(completions, answer, answer_type, strict=True)))
        return [None if v.status in STATUSES_UNGRADED else float(v.status == "correct") for v in verdicts]

    return verified


def random_reward(chance: float, seed: int) -> Reward:
    """A TRL reward function that reads nothing: 1 with a given chance, else 0 (spurious rewards, arXiv:2506.10947).

    The draws of a step depend on the cell's seed, the step and the rank alone.
    """

    def drawn(completions: list[str], *, trainer_state: Any, **_: Any) -> list[float | None]:
        rank = int(os.environ.get("RANK", "0"))  # a launcher sets it
        rng = generator(seed, "random reward", trainer_state.global_step, rank)
        return [float(number < chance) for number in rng.random(len(completions))]

    return drawn
