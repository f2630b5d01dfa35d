r"""Answers to multiple-choice questions: one letter, A to D.

The rule, in this order:

1. The last box counts. It must hold one letter and nothing else, in either case: a lone letter in a box is a choice,
   however it is written. Parentheses, a full stop or colon, dollar signs, asterisks, quotation marks, ``\text{}``,
   ``\mathrm{}`` and their kin are dress: ``\boxed{(B)}``, ``\boxed{\text{B}}``, ``\boxed{B.}`` and ``\boxed{b}`` are
   all B. A last box that holds anything else names no choice and is ``no_answer``, even where an earlier box does.
2. Without a box the last declaration counts, "answer is B" or "Answer: (B)", its letter a capital; and without that
   the whole text, where it is one letter in dress. Anything else is ``no_answer``: an option that is only mentioned,
   as in "(A) is too small", is no answer.
"""

import re

from ict_core.grading._boxes import Verdict, last_box, last_match
from ict_core.grading._gold import LETTERS

_DECLARED = re.compile(
    r"[Aa]nswer(?:\s{1,3}is)?(?:\\[a-z]{1,10}|\s(?:option|choice)\s|[\s$*({:\"“'‘]){1,20}([A-D])"
    r"(?![A-Za-z0-9]|['’][A-Za-z])"
)
_WHOLE = 80  # characters of the longest text that may be one letter and nothing else
_DRESS = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit)(?![A-Za-z])|[\s$*(){}.:\"“”'‘’]")


def grade_choice(text: str, gold: str) -> Verdict:
    """Grade the letter that a text gives; in upper case it is what the verdict gives as extracted. Linear time."""
    if box := last_box(text):
        answer = box.answer
    elif declared := last_match(_DECLARED, text):
        answer = declared[1]
    else:
        answer = text if len(text) <= _WHOLE else ""
    letter = _DRESS.sub("", answer).upper()
    if letter not in LETTERS:
        return Verdict("no_answer")
    return Verdict("correct" if letter == gold else "wrong", letter)
