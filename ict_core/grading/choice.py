r"""Answers to multiple-choice questions: one letter, A to D, in the last box."""

import re

from ict_core.grading.boxes import Verdict, last_box

CHOICES = ("A", "B", "C", "D")

_DRESS = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit)(?![A-Za-z])|[\s$*(){}.:]")


def grade_choice(text: str, gold: str) -> Verdict:
    r"""Grade the letter of the last box of a text.

    The box must hold one letter and nothing else, in either case: a lone letter in a box is a choice, however it is
    written. Parentheses, a full stop or colon, dollar signs, asterisks, ``\text{}``, ``\mathrm{}`` and their kin are
    dress: ``\boxed{(B)}``, ``\boxed{\text{B}}``, ``\boxed{B.}`` and ``\boxed{b}`` are all B. A last box that holds
    anything else names no choice and is ``no_answer``, even where an earlier box does. Time is linear in the text.

    The letter, in upper case, is what the verdict gives as extracted.

    Args:
        text: what the model wrote.
        gold: one of :data:`CHOICES`.
    """
    box = last_box(text)
    letter = _DRESS.sub("", box.answer).upper() if box else ""
    if letter not in CHOICES:
        return Verdict("no_answer")
    return Verdict("correct" if letter == gold else "wrong", letter)
