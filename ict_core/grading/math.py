r"""Mathematical answers, compared by math-verify.

The rule, in this order, for the answer in the last box, or of a text without one (:mod:`ict_core.grading._prose`), and
the gold answer, both without surrounding whitespace, dollar signs, asterisks, colours, a final mark, and thousands
separators made of thin spaces (``,\!`` and ``\,``) or braces:

1. No answer, or an empty box: ``no_answer``.
2. The same text, apart from spaces that separate nothing, ``\left`` and ``\right``, the size of a fraction (``\dfrac``)
   and fonts (``\text``): ``correct``. math-verify does not find all of these equal.
3. Both are integers (ASCII digits, a minus sign, zero padding, commas between thousands): compared as integers.
4. Clock times, amounts, words and digits in a base: compared by :mod:`ict_core.grading._everyday`, if it can tell.
5. Otherwise math-verify decides, on both texts in LaTeX (:mod:`ict_core.grading._plain`). If it finds them different,
   it compares them again with the letter i as the imaginary unit. The whole box is parsed as LaTeX; no number is picked
   out of prose. A box that is no LaTeX at all is ``wrong``, unless the normalised texts agree: the answer was read, and
   it is not the gold one. math-verify does not know ``\neq``, so its two sides are compared. An inequality is compared
   with an interval as the interval that it describes, and a column vector with a tuple as one. Remainders of
   divisions by different numbers differ. Of numbers below 0.001, which math-verify rounds, six digits must agree.
   Commas between thousands (``1,200\pi``) are left out where the other side has no comma.
6. If 2 to 5 find no equality, they are applied again without the text before the answer: an option's letter,
   ``\textbf{(B)}~73`` (if the gold answer is a letter, the letter alone counts), "Answer:", or a few words and "is", as
   in ``\text{The function is even}``, if none of them denies, doubts or bounds.
7. An exception from math-verify, or a parser that exhausts the stack on a box or on the gold answer, says nothing about
   the answer: ``error``.

This is the type ``latex`` of MATH and MATH-500, and ``math`` of the generated benchmarks.
"""

import logging
import re
from collections.abc import Iterator

from ict_core.grading._choice import option
from ict_core.grading._everyday import same_everyday, without_fonts
from ict_core.grading._number import canonical
from ict_core.grading._plain import (
    as_interval,
    as_latex,
    as_tuple,
    both_signs,
    inside_fonts,
    looks_like_interval,
    moduli,
    sides_of_inequation,
)
from ict_core.grading._prose import DENIED, DOUBTED, answer_in_prose
from ict_core.grading.boxes import SPACE_BACKWARDS, Verdict, last_box

_log = logging.getLogger(__name__)

_THIN = re.compile(r"(?<=[0-9])(?:,\\! *|\\,|\{,\})(?=[0-9]{3}(?![0-9]))|\\!")
_GROUPED = re.compile(r"(?<![0-9.,])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9,])")
_DELIMITED = re.compile(r"\$+([^$]*)\$+|\\\(([^$]*)\\\)|\\\[([^$]*)\\\]")
_COLOUR = re.compile(r"\\(?:(?:text)?color *\{[a-z]{1,20}\}|(?:underline|checkmark)(?![A-Za-z]))")
_TAIL = re.compile(rf"(?:{SPACE_BACKWARDS}|[.~*]|[,;](?!\\)|\\\\)*")  # cut from an answer's end, matched backwards
_SIZE = re.compile(r"\\(?:left|right)(?![A-Za-z])|(?<=\\)[dt](?=frac)")
_SPACE = re.compile(r"(?<![0-9A-Za-z])\s+|\s+(?![0-9A-Za-z\s])")
_SPACES = re.compile(r"\s+")
_IMAGINARY = re.compile(r"(?<![A-Za-z\\])i(?![A-Za-z])")
_LABEL = re.compile(r"(?:\([A-H]\)[.:]?|[A-H][).:])(?:[ ~]|\\[,;: ]|\\q?quad|(?=[0-9\\-]))+(.+)")
_LETTER = re.compile(r"\(([A-H])\)")
_LEAD = re.compile(r"((?:[A-Za-z$'’(),-]+\s+){0,12}?)(?:is|are|equals|(?:final )?answer ?:)(?![A-Za-z]):?\s*(.+)", re.I)
_INTEGER = re.compile(r"-?[0-9][0-9,]*")
_ROUNDED_AWAY = 1e-3  # math-verify compares six decimals
_SIX_DIGITS = 5e-6
_UNKNOWN = 1e-100  # sympy's size of an expression that is 0 may be 1e-125


def _normalised(answer: str) -> str:
    answer = _trimmed(_COLOUR.sub("", _THIN.sub("", answer)))
    bare = _DELIMITED.fullmatch(answer)
    return _trimmed(bare[1] or bare[2] or bare[3] or "") if bare else answer


def _trimmed(answer: str) -> str:
    """An answer without surrounding whitespace and asterisks and without marks and line breaks at its end."""
    backwards = answer[::-1]
    tail = _TAIL.match(backwards)
    return backwards[tail.end() if tail else 0 :][::-1].strip(" \n\t*")


def _spelled(answer: str) -> str:
    """One spelling for texts that LaTeX typesets alike; a space between letters or digits may separate, and stays."""
    return _SPACES.sub(" ", _SPACE.sub("", _SIZE.sub("", answer)))


def _bare(given: str, wanted: str) -> Iterator[str]:
    """The forms of an answer without the text before it; see rule 6."""
    text = inside_fonts(given)
    if (named := option(given)) is not None:
        if (letter := _LETTER.fullmatch(without_fonts(wanted))) and named[0] == letter[1]:
            yield wanted
        if label := _LABEL.fullmatch(text):
            yield label[1].strip()
    if text != given and given.endswith("}") and "\\" not in text:
        yield text.strip()
    if (lead := _LEAD.fullmatch(text)) and not DOUBTED.search(lead[1]) and not DENIED.match(lead[2]):
        yield lead[2].strip()


def settle_math(answer: str, gold: str) -> Verdict | None:
    """The verdict on an answer if rules 1 to 4 give one, else None. Linear time; needs no math-verify."""
    given, expected = _normalised(answer), _normalised(gold)
    if not given:
        return Verdict("no_answer")
    equal = _known(given, expected)
    if not equal and any(_known(bare, expected) for bare in _bare(given, expected)):
        equal = True
    return None if equal is None else Verdict.on(answer, "correct" if equal else "wrong")


def _known(given: str, wanted: str) -> bool | None:
    """Whether both are the same by rules 2 to 4; None if these cannot tell."""
    if _spelled(given) == _spelled(wanted) or _spelled(inside_fonts(given)) == _spelled(inside_fonts(wanted)):
        return True
    integers = [canonical(side) if _INTEGER.fullmatch(side) else None for side in (given, wanted)]
    return integers[0] == integers[1] if None not in integers else same_everyday(given, wanted)


def settle_math_text(text: str, gold: str) -> Verdict | str:
    """The verdict on a text if rules 1 to 4 give one, else the answer, for math-verify. Linear time."""
    box = last_box(text)
    answer = box.answer if box else answer_in_prose(text)
    return settle_math(answer, gold) or answer


def load_math_verify() -> None:
    """Import math-verify and what it loads on first use, so that none of it counts against an answer's limits."""
    import numpy  # noqa: F401  (sympy imports it within some evaluations)

    _equal("0.5", "\\frac{1}{2}")


def _expressions(answer: str) -> list[object]:
    """The readings of an answer that math-verify compares: an expression if it parses, and its normalised text."""
    from math_verify import LatexExtractionConfig, parse
    from math_verify.parser import parse_latex_cached

    target = LatexExtractionConfig(boxed_match_priority=0, try_extract_without_anchor=False)
    readings = parse(f"\\boxed{{{answer}}}", [target], parsing_timeout=None, raise_on_error=True)
    if readings and all(isinstance(reading, str) for reading in readings):
        try:  # parse() swallows whatever the LaTeX parser raises; only a syntax error is the answer's fault
            parse_latex_cached(readings[0])
        except (MemoryError, RecursionError):
            raise
        except Exception:
            _log.debug("not LaTeX: %.80r", answer)
    return readings


def _like_moduli(answer: str, gold: str) -> bool:
    """False if both are remainders, of divisions by different numbers."""
    given, expected = moduli(answer), moduli(gold)
    return not given or not expected or given == expected or _equal(given, expected)


def _ungrouped(answer: str, other: str) -> str:
    """An answer without commas between thousands, unless it or the other may be a list."""
    listed = "," in other or any(sign in answer for sign in ("(", "[", r"\{"))
    return answer if listed else _GROUPED.sub(lambda number: number[0].replace(",", ""), answer)


def _equal(answer: str, gold: str) -> bool:
    r"""Whether math-verify finds both equal, in like forms; of ``\neq`` the sides, of ``\pm`` both signs."""
    given, expected = sides_of_inequation(answer), sides_of_inequation(gold)
    if given is None or expected is None:
        if given is not expected:
            return False
        signs = both_signs(answer), both_signs(gold)
        return _verified(*_alike(answer, gold)) or (signs != (answer, gold) and _verified(*signs))
    turned = given[::-1]
    return any(_equal(pair[0], expected[0]) and _equal(pair[1], expected[1]) for pair in (given, turned))


def _alike(answer: str, gold: str) -> tuple[str, str]:
    """Both as intervals if one is an inequality and the other that or an interval; as tuples if one begins with "("."""
    intervals = as_interval(answer), as_interval(gold)
    for described, other in (intervals, intervals[::-1]):
        if described and (other or looks_like_interval(gold if described is intervals[0] else answer)):
            return intervals[0] or answer, intervals[1] or gold
    if any(side.replace("\\left", "").lstrip().startswith("(") for side in (answer, gold)):
        return as_tuple(answer), as_tuple(gold)
    return answer, gold


def _verified(answer: str, gold: str) -> bool:
    # Both calls log in every process that their own time limits are off; the pool's limits replace them.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    from math_verify import verify

    expected, given = _expressions(gold), _expressions(answer)
    if verify(expected, given, timeout_seconds=None, raise_on_error=True):
        return not _apart(expected, given)
    if not any(_IMAGINARY.search(text) for text in (answer, gold)):
        return False
    return verify(_complex(expected), _complex(given), timeout_seconds=None, raise_on_error=True)


def _apart(expected: list[object], given: list[object]) -> bool:
    """Whether both are numbers so small that math-verify compares few of their digits, and differ in six."""
    from math_verify.grader import unwrap_eq
    from sympy import Expr

    sides = [[n for n in map(unwrap_eq, side) if isinstance(n, Expr) and n.is_number] for side in (expected, given)]
    if not all(sides) or sides[0][0] == sides[1][0]:
        return False
    one, other = (side[0].evalf().doit() for side in sides)
    if not all(value.is_Float or value.is_zero for value in (one, other)):
        return False
    size = max(abs(one), abs(other))
    return bool(_UNKNOWN < size <= _ROUNDED_AWAY and abs(one - other) > _SIX_DIGITS * size)


def _complex(readings: list[object]) -> list[object]:
    """The readings with the symbol i as the imaginary unit and products multiplied out."""
    from sympy import Expr, I, expand

    def with_unit(reading: Expr) -> object:
        return expand(reading.subs({symbol: I for symbol in reading.free_symbols if str(symbol) == "i"}))

    return [with_unit(reading) if isinstance(reading, Expr) else reading for reading in readings]


def grade_math(answer: str, gold: str) -> Verdict:
    """Grade an answer against the gold answer, under the rule in the module's docstring.

    The time is unbounded, as math-verify may evaluate what it reads: grade unseen texts in a :class:`GradingPool`. A
    MemoryError is passed on: only the process that set the limit can tell what it means.
    """
    settled = settle_math(answer, gold)
    if settled is not None:
        return settled
    given, expected = _normalised(answer), _normalised(gold)
    try:
        forms = [form for form in (given, *_bare(given, expected)) if same_everyday(form, expected) is None]
        pairs = [(as_latex(_ungrouped(form, expected)), as_latex(_ungrouped(expected, form))) for form in forms]
        equal = any(_like_moduli(f, expected) and _equal(*pair) for f, pair in zip(forms, pairs, strict=True))
    except MemoryError:
        raise
    except Exception as error:  # its message is left out: printing an expression can fail or take forever
        _log.warning("not graded: answer %.80r, gold %.80r: %s", answer, gold, type(error).__name__)
        return Verdict.on(answer, "error")
    return Verdict.on(answer, "correct" if equal else "wrong")
