"""Word problems of one step with exact answers, for small language models."""

from dataclasses import dataclass

from ict_core.seeding import generator

VERSION = "1"
_NAMES = ("Tom", "Anna", "Ben", "Mia", "Leo", "Eva", "Max", "Nina", "Paul", "Rosa", "Omar", "Ida")
_THINGS = (
    *("apples", "books", "cards", "coins", "eggs", "flowers"),
    *("marbles", "nuts", "pens", "shells", "stamps", "toys"),
)
_SIGNS = {"plus": "+", "minus": "-", "times": "*", "divided": "/"}
_STORIES = {  # by operation, each with the beginning of its worked solution
    "plus": (
        (
            "{name} has {a} {thing}. {other} gives {name} {b} more. How many {thing} does {name} have now?",
            "{name} has {a} {thing} and gets {b} more.",
        ),
        (
            "There are {a} {thing} on a table. {name} puts {b} more there. How many {thing} are on the table now?",
            "There are {a} {thing} and {b} more are put there.",
        ),
        (
            "{name} finds {a} {thing} and {other} finds {b} {thing}. How many {thing} do they find together?",
            "{name} finds {a} and {other} finds {b} {thing}.",
        ),
    ),
    "minus": (
        (
            "{name} has {a} {thing}. {name} gives {b} of them to {other}. How many {thing} does {name} have left?",
            "{name} has {a} {thing} and gives {b} away.",
        ),
        (
            "There are {a} {thing} in a box. {name} takes out {b}. How many {thing} are left in the box?",
            "There are {a} {thing} and {b} are taken out.",
        ),
        (
            "{name} has {a} {thing} and {other} has {b}. How many more {thing} does {name} have than {other}?",
            "{name} has {a} {thing} and {other} has {b}.",
        ),
    ),
    "times": (
        (
            "{name} has {a} boxes with {b} {thing} in each. How many {thing} does {name} have?",
            "There are {a} boxes with {b} {thing} in each.",
        ),
        (
            "{name} buys {b} {thing} a day for {a} days. How many {thing} does {name} buy?",
            "{name} buys {b} {thing} on each of {a} days.",
        ),
    ),
    "divided": (
        (
            "{name} shares {a} {thing} equally among {b} friends. How many {thing} does each friend get?",
            "{a} {thing} are shared among {b} friends.",
        ),
        (
            "{name} puts {a} {thing} into bags, {b} in each. How many bags does {name} fill?",
            "{a} {thing} are put into bags of {b}.",
        ),
    ),
}


@dataclass(frozen=True)
class OneStep:
    """Problems by their index, each {"question", "answer", "solution"}; the numbers of a story are 2 to `highest`.

    In a division this holds for divisor and result.
    """

    operation: str
    seed: int
    size: int
    highest: int

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> dict[str, str]:
        rng = generator(self.seed, "one step", index)
        a, b = sorted((int(number) for number in rng.integers(2, self.highest + 1, 2)), reverse=True)
        name, other = rng.choice(_NAMES, 2, replace=False)
        values = {"name": name, "other": other, "thing": rng.choice(_THINGS), "a": a, "b": b}
        answer = {"plus": a + b, "minus": a - b, "times": a * b, "divided": a}[self.operation]
        if self.operation == "divided":
            values["a"] = a * b
        stories = _STORIES[self.operation]
        question, opening = stories[rng.integers(len(stories))]
        closing = f"{values['a']} {_SIGNS[self.operation]} {values['b']} = {answer}. The answer is \\boxed{{{answer}}}."
        return {
            "question": question.format(**values),
            "answer": str(answer),
            "solution": f"{opening.format(**values)} {closing}",
        }


def create_dataset(operation: str, seed: int, size: int, highest: int = 20) -> OneStep:
    """Problems of one operation, with the signature of reasoning-gym's function.

    Raises:
        ValueError: there is no such operation, or no such highest number.
    """
    if operation not in _STORIES or highest not in range(2, 1001):
        raise ValueError(f"allowed: {', '.join(_STORIES)}, and a highest number of 2 to 1000")
    return OneStep(operation, seed, size, highest)
