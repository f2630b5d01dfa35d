r"""Answers that are integers from 0 to 999, as the AIME asks for.

The rule, in this order:

1. The last box counts. Without a box the last "answer is N" or "answer: N" counts, and without that the whole text,
   where it is one integer. An empty box, or none of the three, is ``no_answer``: no number is picked out of prose.
2. Dollar signs, ``\text{}`` and its kin, parentheses, a full stop at the end, zero padding (``033``), commas between
   thousands and a decimal part of zeros (``33.0``) do not matter. What is then an ASCII numeral is compared as one.
3. A box that holds something else, such as ``m+n=33`` or ``\frac{66}{2}``, is compared by math-verify, as
   ``ict_core.grading._math`` does.

What the benchmarks' authors and other graders do: docs/grading.md.
"""

import re

from ict_core.grading._boxes import Verdict, last_box, last_match
from ict_core.grading._numerals import canonical, undress

_DECLARED = re.compile(
    r"[Aa]nswer(?:\s{1,3}is)?(?:\\[a-z]{1,10}|[\s$*({:]){1,20}"
    r"([+-]?[0-9]+(?:,[0-9]{3})*(?:\.0+)?)(?![0-9A-Za-z^/+\\_(-]|[.,:][0-9]|\*(?!\*)|\*\*[0-9])"
)
_WHOLE = 80  # characters of the longest text that may be one integer and nothing else


def _read(answer: str) -> str | None:
    """The canonical number of an answer in dress, which may stand in parentheses."""
    plain = undress(answer)
    return canonical(plain[1:-1].strip(" ") if plain.startswith("(") and plain.endswith(")") else plain)


def is_integer_gold(gold: str) -> bool:
    """Whether a gold answer can be read as an integer from 0 to 999, zero-padded or not; `gold` says which is legal."""
    form = _read(gold)
    return form is not None and form.isdecimal() and len(form) <= 3


def _answer(text: str) -> str | None:
    """What a text without a box declares, or the text itself where it is a number; else None."""
    declared = last_match(_DECLARED, text)
    if declared:
        return declared[1]
    return text.strip() if len(text) <= _WHOLE and _read(text) is not None else None


def settle_integer(text: str, gold: str) -> Verdict | None:
    """The verdict where rules 1 and 2 give one, else None; ``error`` for a gold that is none. Linear time."""
    box = last_box(text)
    answer = box.answer if box else _answer(text)
    if not answer:
        return Verdict("no_answer")
    if not is_integer_gold(gold):
        return Verdict.on(answer, "error")
    given = _read(answer)
    if given is None:
        return None
    return Verdict.on(answer, "correct" if given == _read(gold) else "wrong")
