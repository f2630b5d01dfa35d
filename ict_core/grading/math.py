r"""Mathematical answers, compared by math-verify.

The rule, in this order, for the answer of the last box, or of a text without one (:mod:`ict_core.grading._prose`), and
the gold answer, each without surrounding whitespace, dollar signs, asterisks, colours, a final mark, and thousands
separators made of thin spaces (``,\!`` and ``\,``):

1. No answer, or an empty box: ``no_answer``.
2. The same text, apart from spaces that separate nothing, ``\left`` and ``\right``, the size of a fraction (``\dfrac``)
   and fonts (``\text``): ``correct``. math-verify does not find all of these equal.
3. Both integers (ASCII digits, a minus sign, zero padding, commas between thousands): compared as integers.
4. Clock times, amounts, words and digits in a base, where :mod:`ict_core.grading._everyday` knows.
5. Otherwise math-verify decides, on both texts with a few plain forms as LaTeX (:mod:`ict_core.grading._plain`) and, if
   that finds them different, with the letter i as the imaginary unit. The whole box is parsed as LaTeX; no number is
   picked out of prose. A box that is not LaTeX for anything is ``wrong``, unless the normalised texts agree: the
   answer was read, and it is not the gold one. Of ``\neq`` math-verify knows nothing: its two sides are compared. An
   inequality is compared with an interval as the interval that it describes, and a column vector with a tuple as one.
6. Where 3 to 5 find no equality, once more without what stands before the answer: an option's letter,
   ``\textbf{(B)}~73`` (and where the gold answer is a letter, by the letter alone), "Answer:", or a few words and "is",
   as in ``\text{The function is even}``, none of which denies, doubts or bounds.
7. An exception out of math-verify, or a parser that exhausted the stack on a box or on the gold answer, says nothing
   about the answer: ``error``.

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
    sides_of_inequation,
)
from ict_core.grading._prose import DENIED, DOUBTED, answer_in_prose
from ict_core.grading.boxes import Verdict, last_box

_log = logging.getLogger(__name__)

_THIN = re.compile(r"(?<=[0-9])(?:,\\! *|\\,)(?=[0-9]{3}(?![0-9]))")
_DELIMITED = re.compile(r"\$+([^$]*)\$+|\\\(([^$]*)\\\)|\\\[([^$]*)\\\]")
_COLOUR = re.compile(r"\\(?:(?:text)?color *\{[a-z]{1,20}\}|(?:underline|checkmark)(?![A-Za-z]))")
_TAIL = re.compile(r"(?:[.~*\s]|[,;](?!\\)|\\\\)*")  # what may end an answer, from its end
_SIZE = re.compile(r"\\(?:left|right)(?![A-Za-z])|(?<=\\)[dt](?=frac)")
_SPACE = re.compile(r"(?<![0-9A-Za-z])\s+|\s+(?![0-9A-Za-z\s])")
_SPACES = re.compile(r"\s+")
_IMAGINARY = re.compile(r"(?<![A-Za-z\\])i(?![A-Za-z])")
_LABEL = re.compile(r"(?:\([A-H]\)[.:]?|[A-H][).:])(?:[ ~]|\\[,;: ]|\\q?quad|(?=[0-9\\-]))+(.+)")
_LETTER = re.compile(r"\(([A-H])\)")
_LEAD = re.compile(r"((?:[A-Za-z$'’(),-]+\s+){0,12}?)(?:is|are|equals|(?:final )?answer ?:)(?![A-Za-z]):?\s*(.+)", re.I)
_INTEGER = re.compile(r"-?[0-9][0-9,]*")


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
    """One spelling for texts that LaTeX sets alike; a space between letters or digits may separate, and stays."""
    return _SPACES.sub(" ", _SPACE.sub("", _SIZE.sub("", answer)))


def _bare(given: str, wanted: str) -> Iterator[str]:
    """What is left of an answer without what stands before it; see rule 6."""
    said = inside_fonts(given)
    if (named := option(given)) is not None:
        if (letter := _LETTER.fullmatch(without_fonts(wanted))) and named[0] == letter[1]:
            yield wanted
        if label := _LABEL.fullmatch(said):
            yield label[1].strip()
    if said != given and given.endswith("}") and "\\" not in said:
        yield said.strip()
    if (lead := _LEAD.fullmatch(said)) and not DOUBTED.search(lead[1]) and not DENIED.match(lead[2]):
        yield lead[2].strip()


def settle_math(answer: str, gold: str) -> Verdict | None:
    """The verdict on an answer where rules 1 to 4 give one, else None. Linear time; needs no math-verify."""
    given, wanted = _normalised(answer), _normalised(gold)
    if not given:
        return Verdict("no_answer")
    known = _known(given, wanted)
    if not known and any(_known(bare, wanted) for bare in _bare(given, wanted)):
        known = True
    return None if known is None else Verdict.on(answer, "correct" if known else "wrong")


def _known(given: str, wanted: str) -> bool | None:
    """Whether both say the same by rules 2 to 4; None where these do not know."""
    if _spelled(given) == _spelled(wanted) or _spelled(inside_fonts(given)) == _spelled(inside_fonts(wanted)):
        return True
    integers = [canonical(side) if _INTEGER.fullmatch(side) else None for side in (given, wanted)]
    return integers[0] == integers[1] if None not in integers else same_everyday(given, wanted)


def settle_math_text(text: str, gold: str) -> Verdict | str:
    """The verdict on a text where rules 1 to 4 give one, else the answer, for math-verify. Linear time."""
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
        try:  # parse() swallows whatever the LaTeX parser raises; only a syntax error speaks of the answer
            parse_latex_cached(readings[0])
        except (MemoryError, RecursionError):
            raise
        except Exception:
            _log.debug("not LaTeX: %.80r", answer)
    return readings


def _equal(answer: str, gold: str) -> bool:
    """Whether both say the same, in their plain forms as in LaTeX."""
    given, wanted = sides_of_inequation(answer), sides_of_inequation(gold)
    if given is None or wanted is None:
        if given is not wanted:
            return False
        signs = both_signs(answer), both_signs(gold)
        return _verified(*_alike(answer, gold)) or (signs != (answer, gold) and _verified(*signs))
    turned = given[::-1]
    return any(_equal(pair[0], wanted[0]) and _equal(pair[1], wanted[1]) for pair in (given, turned))


def _alike(answer: str, gold: str) -> tuple[str, str]:
    """Both as intervals where one is an inequality and the other an interval, as tuples where one alone is a column."""
    intervals = as_interval(answer), as_interval(gold)
    for described, other in (intervals, intervals[::-1]):
        if described and (other or looks_like_interval(gold if described is intervals[0] else answer)):
            return intervals[0] or answer, intervals[1] or gold
    if any(side.replace("\\left", "").lstrip().startswith("(") for side in (answer, gold)):
        return as_tuple(answer), as_tuple(gold)
    return answer, gold


def _verified(answer: str, gold: str) -> bool:
    # Both calls announce on every process that their own limits are off; the pool's limits stand in for them.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    from math_verify import verify

    wanted, given = _expressions(gold), _expressions(answer)
    if verify(wanted, given, timeout_seconds=None, raise_on_error=True):
        return True
    if not any(_IMAGINARY.search(text) for text in (answer, gold)):
        return False
    return verify(_complex(wanted), _complex(given), timeout_seconds=None, raise_on_error=True)


def _complex(readings: list[object]) -> list[object]:
    """Readings whose symbol i is the imaginary unit, products multiplied out."""
    from sympy import Expr, I, expand

    def with_unit(reading: Expr) -> object:
        return expand(reading.subs({symbol: I for symbol in reading.free_symbols if str(symbol) == "i"}))

    return [with_unit(reading) if isinstance(reading, Expr) else reading for reading in readings]


def grade_math(answer: str, gold: str) -> Verdict:
    """Grade an answer against the gold answer, under the rule in the module's docstring.

    The time is unbounded, as math-verify may evaluate what it reads: a :class:`GradingPool` is for texts that nobody
    has seen. A MemoryError passes: only the process that set the limit can tell what that means.
    """
    settled = settle_math(answer, gold)
    if settled is not None:
        return settled
    given, wanted = _normalised(answer), _normalised(gold)
    try:
        forms = [form for form in (given, *_bare(given, wanted)) if same_everyday(form, wanted) is None]
        equal = any(_equal(as_latex(form), as_latex(wanted)) for form in forms)
    except MemoryError:
        raise
    except Exception as error:  # its message is left out: printing an expression can fail or take forever
        _log.warning("not graded: answer %.80r, gold %.80r: %s", answer, gold, type(error).__name__)
        return Verdict.on(answer, "error")
    return Verdict.on(answer, "correct" if equal else "wrong")
