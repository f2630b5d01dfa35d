r"""Answers that are numbers with or without a unit, as GSM8K asks for.

The rule, in this order:

1. Of the last line ``#### N`` and the last box, the one that begins later counts. A line counts whose text after the
   four signs is a number in dress (rule 2); others are headings. Without both, the last number of the text counts. An
   empty box, or a text without any digit, is ``no_answer``.
2. Dress does not matter: dollar signs and other currencies, thousands separators (``1,234``, ``1{,}234``, ``1\,234``),
   ``\text{}`` and its kin, a unit of a few words, a percent or degree sign, a full stop at the end. Decimals that are
   equal are equal: ``42.0`` is 42, and ``50%`` is 50. The unit is not compared, since no gold answer
   has one. ``5 million`` is 5000000; with another word that changes the value (``dozen``, ``half``) a box is ``wrong``.
3. A box that holds something else, such as ``\frac{36}{2}``, is compared by math-verify, as ``ict_core.grading._math``
   does. A last number that is a part of something else, as in ``3/4``, ``5:30`` or ``1,23``, is ``wrong``.

What the benchmarks' authors and other graders do: docs/grading.md.
"""

import re

from ict_core.grading._boxes import Verdict, last_box, last_match
from ict_core.grading._numerals import canonical, plain_separators, shifted, undress

_MARKER = re.compile(r"#### ?([^\n]{1,200})")
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?) ?(?:(?:US|USD|EUR|GBP|Rs\.?|[€£¥₹]) ?)?(?P<size>[+-]?[0-9.,]*[0-9])"
    r" ?(?:\\?%|\^? ?\\circ|°)?(?P<unit>.*)"
)
_UNIT_WORD = re.compile(r"[A-Za-z][A-Za-z.'’-]*(?:\^ ?[23]|[²³])?|[€£¥₹]")
_UNIT_LETTERS = frozenset("mgLlshCF€£¥₹")
_UNIT_WORDS = 6
_POWERS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_FRACTIONS = {"dozen", "dozens", "half", "quarter", "third", "thirds"}
_OPERATIONS = {"and", "or", "to", "pi", "sqrt", "squared", "cubed", "times", "plus", "minus", "over", "mod", "choose"}
_NOT_UNITS = _FRACTIONS | _OPERATIONS
_RUN = re.compile(r"(?<![A-Za-z0-9_])(?:(?<![0-9A-Za-z)\]}.])-)?[€£¥₹]?\.?[0-9](?:[.,/:^]{0,2}[0-9])*")


def _quantity(answer: str) -> tuple[str, list[str]] | None:
    """The canonical number and the words of an answer that is a number and words, such as ``$5 million a year``."""
    match = _QUANTITY.fullmatch(undress(answer))
    if match is None:
        return None
    form, words = canonical(match["sign"] + match["size"]), match["unit"].replace("/", " ").split()
    fit = len(words) <= _UNIT_WORDS and all(
        _UNIT_WORD.fullmatch(w) and (len(w) > 1 or w in _UNIT_LETTERS) for w in words
    )
    return (form, [word.lower() for word in words]) if form is not None and fit else None


def read_number(answer: str) -> str | None:
    """The canonical form of a number in dress, or None where an answer is anything else. Linear time."""
    quantity = _quantity(answer)
    if quantity is None:
        return None
    form, words = quantity
    if words and words[0] in _POWERS:
        form = shifted(form, _POWERS[words.pop(0)])
    return None if any(word in _NOT_UNITS or word.removesuffix("s") in _POWERS for word in words) else form


def _marked(text: str) -> tuple[int, str] | None:
    """Where the last ``#### N`` begins, and its N as it stands."""
    last = None
    for match in _MARKER.finditer(text):
        if read_number(match[1]) is not None:
            last = (match.start(), match[1].strip())
    return last


def _last_run(text: str) -> str | None:
    last = last_match(_RUN, plain_separators(text.replace("\u2212", "-").replace("\\$", "").replace("$", "")))
    return last[0] if last else None


def settle_number(text: str, gold: str) -> Verdict | None:
    """The verdict where rules 1 and 2 give one, else None; ``error`` for a gold that is no number. Linear time."""
    box, marked = last_box(text), _marked(text)
    boxed = box is not None and (marked is None or text.rfind(box.markup) > marked[0])
    answer = box.answer if box and boxed else marked[1] if marked else _last_run(text)
    if not answer:
        return Verdict("no_answer")
    wanted = read_number(gold)
    if wanted is None:
        return Verdict.on(answer, "error")
    given = read_number(answer)
    if given is None and boxed and _quantity(answer) is None:
        return None
    return Verdict.on(answer, "correct" if given == wanted else "wrong")
