"""What the mini world is made of: evaluation sets, training problems and pretraining text, kept apart by prompt."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from ict_core.errors import UserError
from ict_core.problems.mini._problems import FAMILIES, Problem
from ict_core.seeding import derive_seed, generator

PRETRAINING_MIX = {"word": 0.25, "symbolic": 0.2, "stem": 0.2, "science": 0.2, "aime": 0.15}
TRAINING_FAMILIES = ("word", "symbolic")  # as the paper trains on GSM8K and MATH and evaluates beyond them
_PATIENCE = 1000  # draws in a row that may fail to give a new prompt


def _distinct(rng: np.random.Generator, families: tuple[str, ...], count: int, taken: set[str]) -> list[Problem]:
    """``count`` problems whose prompts are not in ``taken``, which grows by them."""
    problems: list[Problem] = []
    failures = 0
    while len(problems) < count:
        problem = FAMILIES[str(rng.choice(families))](rng)
        if problem.prompt in taken:
            failures += 1
            if failures > _PATIENCE:
                raise UserError(f"families {families} have no {count} distinct problems left; ask for fewer")
            continue
        failures = 0
        taken.add(problem.prompt)
        problems.append(problem)
    return problems


def evaluation_problems(seed: int, sets: Mapping[str, tuple[str, int]]) -> pd.DataFrame:
    """The held-out sets, as a frame of ``records.PROBLEMS``.

    Args:
        seed: the data seed.
        sets: benchmark name -> (family, number of problems). A set does not depend on which others are asked for,
            but for a prompt that two of the same family would share.
    """
    taken: set[str] = set()
    rows = []
    for name, (family, count) in sorted(sets.items()):
        for index, problem in enumerate(_distinct(generator(seed, "evaluation", name), (family,), count, taken)):
            rows.append(_row(name, f"{name}-{index:04d}", problem))
    return pd.DataFrame(rows)


def training_problems(seed: int, count: int, held_out: set[str]) -> pd.DataFrame:
    """Distinct problems of the mathematical families for reinforcement learning (``records.PROBLEMS``)."""
    problems = _distinct(generator(seed, "training"), TRAINING_FAMILIES, count, set(held_out))
    return pd.DataFrame([_row("train", f"train-{i:05d}", p) for i, p in enumerate(problems)])


def pretraining_documents(seed: int, count: int, held_out: set[str]) -> Iterator[tuple[str, str]]:
    """(prompt, completion) pairs; every step is worked or direct with probability one half.

    A prompt may occur more than once, a held-out one never.
    """
    rng = generator(seed, "pretraining")
    families, weights = list(PRETRAINING_MIX), np.array(list(PRETRAINING_MIX.values()))
    made = 0
    while made < count:
        family = str(rng.choice(families, p=weights))
        problem = FAMILIES[family](rng)
        worked = rng.random(len(problem.steps)) < 0.5
        if problem.prompt not in held_out:
            made += 1
            yield problem.prompt, problem.solution(worked.tolist())


def tokenizer_texts(count: int = 4000) -> list[str]:
    """Text to train the tokenizer on: one tokenizer for every seed and study."""
    return [prompt + completion for prompt, completion in pretraining_documents(derive_seed(0, "bpe"), count, set())]


def _row(benchmark: str, identifier: str, problem: Problem) -> dict[str, str]:
    return {
        "benchmark": benchmark,
        "problem": identifier,
        "question": problem.question,
        "options": "[]",  # a choice's ranges stand in the question
        "prompt": problem.prompt,
        "answer": problem.answer,
        "answer_type": "choice" if problem.letter else "math",
    }
