"""What the jobs of a study have to do: answers and their tokens."""

import math
from dataclasses import dataclass

from ict_core.config.models import Architecture, ScratchModel
from ict_core.config.study import Study
from ict_core.tools.plan.assumptions import Assumptions


@dataclass(frozen=True)
class Work:
    """The answers of one job, or of one training step.

    Attributes:
        answers: how many.
        prompt: tokens, mean.
        longest_prompt: tokens, to which dense passes pad.
        answer: tokens, mean.
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


def step_work(study: Study, model: str, assumed: Assumptions, answer: float | None = None) -> Work:
    """One training step of a model; `answer` is a measured mean length in place of the assumed one."""
    training = study.training
    room = study.models[model].architecture.max_positions - training.max_new_tokens
    longest = min(assumed.longest_prompt_tokens.value, training.max_prompt_tokens or room, room)
    return Work(
        training.sequences_per_step,
        min(assumed.prompt_tokens.value, longest),
        longest,
        answer or assumed.train_answer_share.value * training.max_new_tokens,
        training.max_new_tokens,
    )


def evaluation_work(
    study: Study, architecture: Architecture, assumed: Assumptions, answer: float | None = None
) -> Work:
    """One cell's answers to all benchmarks."""
    evaluation = study.evaluation
    room = architecture.max_positions - evaluation.max_new_tokens
    prompt = min(assumed.prompt_tokens.value, room)
    mean = answer or assumed.evaluation_answer_share.value * evaluation.max_new_tokens
    return Work(study.answers(), prompt, prompt, mean, evaluation.max_new_tokens)


def pretraining_documents(model: ScratchModel) -> int:
    """Documents that a pretraining reads, each once."""
    return model.pretraining.steps * model.pretraining.batch_sequences
