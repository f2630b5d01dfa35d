"""Which gold answers are legal: the one rule for the sets that are read and for the frames that are graded.

It knows no grader, so that another grader makes no problem anew.
"""

import re

LETTERS = ("A", "B", "C", "D")  # of the options of a multiple choice, in their order
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
    """What a gold answer of one of :data:`ANSWER_TYPES` must be, in words, where this one is not; else None."""
    form, wanted = _FORMS[answer_type]
    return None if form.fullmatch(gold) else wanted
