"""What the jobs of a study have to do: answers and their tokens."""

import math
from dataclasses import dataclass

from ict_core.config import Study
from ict_core.tools.plan._assumptions import Assumptions
from ict_core.tools.plan._measured import Rate


@dataclass(frozen=True)
class Work:
    """The answers of one job, or of one training step.

    Attributes:
        prompt, answer: tokens, mean.
        longest_prompt: tokens, to which dense passes pad.
        limit: tokens, the longest an answer may be.
    """

    answers: int
    prompt: float
    longest_prompt: float
    answer: float
    limit: int

    @property
    def tokens(self) -> float:
        """Tokens of all answers."""
        return self.answers * self.answer

    @property
    def width(self) -> float:
        """Tokens of a padded row: among many answers one runs into the limit."""
        return self.longest_prompt + self.limit

    def distinct_tokens(self, rows: int, group_size: int) -> float:
        """Tokens of packed passes over so many rows each: all answers', and a group's prompt once a pass."""
        prompts = self.answers / rows * math.ceil(rows / group_size)
        return self.tokens + prompts * self.prompt


def cells_of(study: Study, model: str) -> tuple[int, int]:
    """How many cells of a model are trained, and how many evaluated (the base model too)."""
    trained, evaluated = (sum(cell.model == model for cell in of) for of in (study.cells(), study.evaluated_cells()))
    return trained, evaluated


def step_work(study: Study, model: str, assumed: Assumptions, rate: Rate | None = None) -> Work:
    """One training step of a model; its answers are as long as the measured ones where there are such."""
    training = study.training
    room = study.models[model].architecture.max_positions - training.max_new_tokens
    longest = min(assumed.longest_prompt_tokens.value, training.max_prompt_tokens or room, room)
    prompt = min(assumed.prompt_tokens.value, longest)
    answer = rate.answer if rate else assumed.train_answer_share.value * training.max_new_tokens
    return Work(training.sequences_per_step, prompt, longest, answer, training.max_new_tokens)


def evaluation_work(study: Study, model: str, assumed: Assumptions, rate: Rate | None = None) -> Work:
    """One cell's answers to all benchmarks, likewise."""
    evaluation = study.evaluation
    room = study.models[model].architecture.max_positions - evaluation.max_new_tokens
    prompt = min(assumed.prompt_tokens.value, room)
    answer = rate.answer if rate else assumed.evaluation_answer_share.value * evaluation.max_new_tokens
    return Work(study.answers(), prompt, prompt, answer, evaluation.max_new_tokens)
