"""Which tokens of a response decide whether it is right, given its problem's true steps."""

import os
import re
from typing import TYPE_CHECKING

from ict_core.problems.mini.arithmetic import token_spans
from ict_core.problems.mini.problems import Problem, problem_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_EXPRESSION = re.compile(r" ?\d+([-+*])(?:\d+([=:]))?")
_RESULT = re.compile(r"[=;](\d+)")


def decision_offsets(problem: Problem, completion: str) -> list[int]:
    """Character offsets of the deciding characters in a completion, in ascending order.

    In a step these are its operation, its fork, and the digits of its results, after ``=`` and ``;``. In the answer to
    a choice it is the letter. All else is a template or a copy and does not decide, unless it is wrong: the first
    character that departs from both true ways of writing the step, or from the true answer, decides as well. The
    reading ends with the first step that is not written in one of these two ways.
    """
    found: set[int] = set()
    start = 0
    for step in problem.steps:
        rest = completion[start:]
        ways = (f" {step.direct()}", f" {step.worked()}")
        right = next((way for way in ways if rest.startswith(way)), None)
        written = right or rest[: rest.find(".") + 1] or rest
        found |= {start + offset for offset in _of_kind(written)}
        if right is None:
            return sorted(found | _departure(rest, ways, start))
        start += len(right)
    box, rest = f" \\boxed{{{problem.answer}}}", completion[start:]
    if problem.letter and rest.startswith(box[:-1]):
        found.add(start + len(box) - 2)
    return sorted(found | _departure(rest, (box,), start))


def _of_kind(written: str) -> set[int]:
    """Offsets of the operation, the fork and the digits of results in a written step, right or wrong."""
    expression = _EXPRESSION.match(written)
    if expression is None:
        return set()
    found = {expression.start(group) for group in (1, 2) if expression[group]}
    if expression[2]:
        for result in _RESULT.finditer(written, expression.start(2)):
            found.update(range(*result.span(1)))
    return found


def _departure(rest: str, ways: tuple[str, ...], start: int) -> set[int]:
    """The offset where a text departs from all right ways; none if one of them begins with it, or it with one."""
    if any(rest.startswith(way) or way.startswith(rest) for way in ways):
        return set()
    return {start + max(len(os.path.commonprefix([rest, way])) for way in ways)}


def decision_tokens(tokenizer: "PreTrainedTokenizerBase", prompt: str, ids: list[int]) -> list[bool]:
    """Whether each token of a response has a character of :func:`decision_offsets`, for the problem of the prompt.

    Raises:
        ValueError: the prompt is not one of the mini world's.
    """
    text, spans = token_spans(tokenizer, ids)
    deciding = set(decision_offsets(problem_of(prompt), text))
    return [not deciding.isdisjoint(span) for span in spans]
