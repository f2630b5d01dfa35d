"""Which gold answers are valid: the same rule for problem sets that are read and for frames that are graded.

It imports no grader, so that the problems need not be made again for another grader.
"""

import re

LETTERS = ("A", "B", "C", "D")  # the letters of the options of a multiple-choice question, in order
_EXPRESSION = (re.compile(r".*\S.*", re.DOTALL), "an expression")
_FORMS = {
    "math": _EXPRESSION,
    "latex": _EXPRESSION,
    "integer": (re.compile(r"0|[1-9][0-9]{0,2}"), "an integer from 0 to 999 without leading zeros"),
    "number": (re.compile(r"-?[0-9]+(?:\.[0-9]+)?"), "a number in digits without separators"),
    "choice": (re.compile("|".join(LETTERS)), f"one of {', '.join(LETTERS)}"),
}
ANSWER_TYPES = tuple(_FORMS)  # `math` is the name of `latex` in the generated benchmarks: one grader, two names


def refusal(gold: str, answer_type: str) -> str | None:
    """What a gold answer of this type (of :data:`ANSWER_TYPES`) must be, in words, if this one is not; else None."""
    form, expected = _FORMS[answer_type]
    return None if form.fullmatch(gold) else expected
