"""The problems of the mini world, in five families; its evaluation sets, training problems and pretraining text."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ict_core.errors import UserError
from ict_core.grading.gold import LETTERS
from ict_core.problems.mini.arithmetic import Operation, Step
from ict_core.seeding import generator

TEMPLATE = "Q: {question}\nA:"
"""The prompt of every problem."""

_NAMES = ("Ann", "Ben", "Eva", "Leo", "Mia", "Tom")
_THINGS = ("pens", "cards", "nuts", "coins", "books", "eggs")
_LIMITS = (2, 5, 8)  # the first digit beyond the ranges A, B and C
_SIGNS: dict[str, Operation] = {  # the text before the right operand of a step, in every family
    **{"+": "+", "gets ": "+", "then on ": "+"},
    **{"-": "-", "loses ": "-", "then back ": "-"},
    **{"*": "*", "makes it ": "*", "for ": "*"},
}
_OPERAND = re.compile(f"({'|'.join(map(re.escape, _SIGNS))})(\\d+)")
_UNITS = {"has tens A": 10, "Ends A": 1}  # the place value of the digit that a choice asks for

Steps = tuple[Step, ...]


@dataclass(frozen=True)
class Problem:
    """A question, the steps that solve it, and the letter of the right choice (none: the last result is asked for)."""

    question: str
    steps: Steps
    letter: str = ""

    @property
    def answer(self) -> str:
        return self.letter or str(self.steps[-1].result)

    @property
    def prompt(self) -> str:
        return TEMPLATE.format(question=self.question)

    def solution(self, worked: Sequence[bool], slip: Callable[[Step], int] = lambda step: step.result) -> str:
        """The completion that follows the prompt, each step written worked or direct.

        ``slip`` gives the number that is written as the result of a direct step. The next steps continue from it; a
        ValueError if one of these falls below 0.
        """
        parts, left = [], self.steps[0].left
        for true_step, is_worked in zip(self.steps, worked, strict=True):
            step = Step(left, true_step.operation, true_step.right)
            left = step.result if is_worked else slip(step)
            parts.append(step.worked() if is_worked else step.direct(left))
        return " " + " ".join([*parts, f"\\boxed{{{_choice(self.question, left) or left}}}"])


def problem_of(prompt: str) -> Problem:
    """The problem of a prompt, in a model's template or not: its steps and its letter, read from the question.

    Raises:
        ValueError: the prompt is not one of the mini world's.
    """
    question = (re.findall(r"Q: (.*)\nA:", prompt) or [""])[-1]  # a template may have worked examples before it
    first, operands = re.search(r"\d+", question), _OPERAND.findall(question)
    if not first or not operands:
        raise ValueError(f"{prompt!r}: no prompt of the mini world, whose steps are known")
    left, steps = int(first[0]), []
    for sign, right in operands:
        steps.append(Step(left, _SIGNS[sign], int(right)))
        left = steps[-1].result
    return Problem(question, tuple(steps), _choice(question, left))


def _choice(question: str, result: int) -> str:
    """The letter that answers a question whose last step has this result; empty for one without a choice."""
    return next((_letter(result, unit) for words, unit in _UNITS.items() if words in question), "")


def _letter(result: int, unit: int) -> str:
    """The letter of the range that contains one digit of a result (`unit` 1: the last)."""
    return LETTERS[bisect_right(_LIMITS, result // unit % 10)]


def _step(rng: np.random.Generator, left: int, operations: str) -> Step:
    """A step from ``left`` whose result stays within 0 to 999; only two-digit numbers are multiplied, by 2 to 5."""
    possible = [
        o for o in operations if (o == "+" and left < 900) or (o == "-" and left > 1) or (o == "*" and left < 100)
    ]
    operation: Operation = possible[rng.integers(len(possible))]  # type: ignore[assignment]
    if operation == "+":
        return Step(left, "+", int(rng.integers(11, 100)))
    if operation == "-":
        return Step(left, "-", int(rng.integers(min(left, 11), min(left, 99) + 1)))
    return Step(left, "*", int(rng.integers(2, 6)))


def _chain(rng: np.random.Generator, length: int, operations: str = "+-*") -> Steps:
    steps = [_step(rng, int(rng.integers(11, 100)), operations)]
    while len(steps) < length:
        steps.append(_step(rng, steps[-1].result, operations))
    return tuple(steps)


def word(rng: np.random.Generator) -> Problem:
    """A story in one or two steps (mirrors GSM8K)."""
    steps = _chain(rng, int(rng.integers(1, 3)))
    name, thing = rng.choice(_NAMES), rng.choice(_THINGS)
    phrases = {"+": "gets {} more", "-": "loses {}", "*": "makes it {} times"}
    story = " and ".join(phrases[s.operation].format(s.right) for s in steps)
    return Problem(f"{name} has {steps[0].left} {thing}, {story}. How many?", steps)


def symbolic(rng: np.random.Generator) -> Problem:
    """An expression or an equation in two steps (mirrors MATH)."""
    if rng.random() < 0.5:
        steps = _chain(rng, 2, "+-")
        return Problem(f"{steps[0].expression}{steps[1].operation}{steps[1].right}", steps)
    steps = _chain(rng, 2)
    first, second = steps
    return Problem(f"y={first.expression}, y{second.operation}{second.right}", steps)


def _balanced(rng: np.random.Generator, draw: Callable[[], Steps], unit: int) -> tuple[Steps, str]:
    """Steps and the letter for one digit of their result (`unit` 1: the last), each letter equally likely."""
    target = LETTERS[int(rng.integers(4))]
    while True:
        steps = draw()
        if _letter(steps[-1].result, unit) == target:
            return steps, target


def stem(rng: np.random.Generator) -> Problem:
    """A choice between four ranges for the tens digit of a one-step result (mirrors MMLU-STEM)."""
    steps, letter = _balanced(rng, lambda: _chain(rng, 1), 10)
    return Problem(f"{steps[0].expression} has tens A<2 B<5 C<8 D more?", steps, letter)


def science(rng: np.random.Generator) -> Problem:
    """A choice between four ranges for the last digit of a two-step quantity (mirrors GPQA)."""

    def draw() -> Steps:
        first = Step(int(rng.integers(11, 100)), "*", int(rng.integers(2, 6)))
        return first, _step(rng, first.result, "+-")

    steps, letter = _balanced(rng, draw, 1)
    first, second = steps
    then = "on" if second.operation == "+" else "back"
    question = f"It moves {first.left} a second for {first.right}, then {then} {second.right}. Ends A<2 B<5 C<8 D more?"
    return Problem(question, steps, letter)


def aime(rng: np.random.Generator) -> Problem:
    """A chain of three definitions, the answer an integer from 0 to 999 (mirrors AIME)."""
    steps = _chain(rng, 3)
    first, second, third = steps
    chain = f"a={first.expression}, b=a{second.operation}{second.right}, c=b{third.operation}{third.right}"
    return Problem(f"{chain}. Find c", steps)


FAMILIES = {family.__name__: family for family in (word, symbolic, stem, science, aime)}


PRETRAINING_MIX = {"word": 0.25, "symbolic": 0.2, "stem": 0.2, "science": 0.2, "aime": 0.15}
TRAINING_FAMILIES = ("word", "symbolic")  # as the paper trains on GSM8K and MATH and evaluates beyond them
_PATIENCE = 1000  # draws in a row that may fail to give a new prompt


def _distinct(rng: np.random.Generator, families: tuple[str, ...], count: int, taken: set[str]) -> list[Problem]:
    """``count`` problems whose prompts are not in ``taken``; their prompts are added to it."""
    problems: list[Problem] = []
    failures = 0
    while len(problems) < count:
        problem = FAMILIES[str(rng.choice(families))](rng)
        if problem.prompt in taken:
            failures += 1
            if failures > _PATIENCE:
                raise UserError(f"families {families} have no {count} distinct problems left; ask for fewer")
        else:
            failures = 0
            taken.add(problem.prompt)
            problems.append(problem)
    return problems


def evaluation_problems(seed: int, sets: Mapping[str, tuple[str, int]]) -> pd.DataFrame:
    """The held-out sets, as a frame of ``records.PROBLEMS``; `sets` has a family and a number of problems by name.

    A set does not depend on the other sets, except for a prompt that two sets of the same family would share.
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


def pretraining_documents(seed: int, count: int, held_out: set[str], slips: float = 0.0) -> Iterator[tuple[str, str]]:
    """(prompt, completion) pairs; every step is worked or direct with probability one half.

    A direct step has a wrong result with probability ``slips`` (unless a later step would fall below 0), and the
    solution continues from it to its answer. A worked step never has a wrong result. A prompt may occur more than once,
    a held-out one never.
    """
    rng, errors = generator(seed, "pretraining"), generator(seed, "slips")
    families, weights = list(PRETRAINING_MIX), np.array(list(PRETRAINING_MIX.values()))
    made = 0
    while made < count:
        family = str(rng.choice(families, p=weights))
        problem = FAMILIES[family](rng)
        worked = rng.random(len(problem.steps)) < 0.5
        if problem.prompt not in held_out:
            made += 1
            yield problem.prompt, _written(problem, worked.tolist(), slips, errors)


def _written(problem: Problem, worked: list[bool], slips: float, rng: np.random.Generator) -> str:
    try:
        return problem.solution(worked, lambda step: step.slip(rng) if rng.random() < slips else step.result)
    except ValueError:
        return problem.solution(worked)


def _row(benchmark: str, identifier: str, problem: Problem) -> dict[str, str]:
    return {
        "benchmark": benchmark,
        "problem": identifier,
        "question": problem.question,
        "options": "[]",  # a choice's ranges are in the question
        "prompt": problem.prompt,
        "answer": problem.answer,
        "answer_type": "choice" if problem.letter else "math",
    }
