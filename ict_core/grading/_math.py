r"""Mathematical answers, compared by math-verify.

The rule, in this order, for the answer of the last box and the gold answer, each without surrounding whitespace,
dollar signs, a final full stop, and thousands separators made of thin spaces (``,\!`` and ``\,``):

1. No box, or an empty one: ``no_answer``.
2. The same text, apart from spaces that separate nothing, ``\left`` and ``\right``, and the size of a fraction
   (``\dfrac``): ``correct``. math-verify does not find all of these equal.
3. Both integers (ASCII digits, a minus sign, zero padding, commas between thousands): compared as integers.
4. Otherwise math-verify decides, on both texts with a few plain forms as LaTeX (:mod:`ict_core.grading._plain`) and, if
   that finds them different, with the letter i as the imaginary unit. The whole box is parsed as LaTeX; no number is
   picked out of prose. A box that is not LaTeX for anything is ``wrong``, unless the normalised texts agree: the answer
   was read, and it is not the gold one. Of ``\neq`` math-verify knows nothing: its two sides are compared.
5. An exception out of math-verify, or a parser that exhausted the stack on a box or on the gold answer, says nothing
   about the answer: ``error``.

This is the type ``latex`` of MATH and MATH-500, and ``math`` of the generated benchmarks.
"""

import logging
import re

from ict_core.grading._boxes import Verdict, last_box
from ict_core.grading._plain import as_latex, sides_of_inequation

_log = logging.getLogger(__name__)

_THIN = re.compile(r"(?<=[0-9])(?:,\\! *|\\,)(?=[0-9]{3}(?![0-9]))")
_DOLLARS = re.compile(r"\$+([^$]*)\$+")
_SIZE = re.compile(r"\\(?:left|right)(?![A-Za-z])|(?<=\\)[dt](?=frac)")
_SPACE = re.compile(r"(?<![0-9A-Za-z])\s+|\s+(?![0-9A-Za-z\s])")
_SPACES = re.compile(r"\s+")
_IMAGINARY = re.compile(r"(?<![A-Za-z\\])i(?![A-Za-z])")
_INTEGER = re.compile(r"(-?)([0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)")


def _normalised(answer: str) -> str:
    answer = _THIN.sub("", answer).strip().removesuffix(".").rstrip()
    dollars = _DOLLARS.fullmatch(answer)
    return dollars[1].strip().removesuffix(".").rstrip() if dollars else answer


def _spelled(answer: str) -> str:
    """One spelling for texts that LaTeX sets alike; a space between letters or digits may separate, and stays."""
    return _SPACES.sub(" ", _SPACE.sub("", _SIZE.sub("", answer)))


def _integer(answer: str) -> str | None:
    """The canonical digits of an integer, or None. A string, since Python bounds the digits of ``int``."""
    match = _INTEGER.fullmatch(answer)
    if match is None:
        return None
    digits = match[2].replace(",", "").lstrip("0")
    return match[1] + digits if digits else "0"


def settle_math(answer: str, gold: str) -> Verdict | None:
    """The verdict on the content of a box where rules 1 to 3 give one, else None. Linear time; needs no math-verify."""
    given, wanted = _normalised(answer), _normalised(gold)
    if not given:
        return Verdict("no_answer")
    if _spelled(given) == _spelled(wanted):
        return Verdict.on(answer, "correct")
    integers = _integer(given), _integer(wanted)
    if None in integers:
        return None
    return Verdict.on(answer, "correct" if integers[0] == integers[1] else "wrong")


def settle_math_text(text: str, gold: str) -> Verdict | None:
    """The verdict on the last box of a text where rules 1 to 3 give one, else None."""
    box = last_box(text)
    return settle_math(box.answer, gold) if box else Verdict("no_answer")


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
        return given is wanted and _verified(answer, gold)
    turned = given[::-1]
    return any(_equal(pair[0], wanted[0]) and _equal(pair[1], wanted[1]) for pair in (given, turned))


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


def grade_math(text: str, gold: str) -> Verdict:
    """Grade the last box of a text against the gold answer, under the rule in the module's docstring.

    The time is unbounded, as math-verify may evaluate what it reads: a :class:`GradingPool` is for texts that nobody
    has seen. A MemoryError passes: only the process that set the limit can tell what that means.
    """
    box = last_box(text)
    if box is None:
        return Verdict("no_answer")
    settled = settle_math(box.answer, gold)
    if settled is not None:
        return settled
    try:
        equal = _equal(as_latex(_normalised(box.answer)), as_latex(_normalised(gold)))
    except MemoryError:
        raise
    except Exception as error:  # its message is left out: printing an expression can fail or take forever
        _log.warning("not graded: answer %.80r, gold %.80r: %s", box.answer, gold, type(error).__name__)
        return Verdict.on(box.answer, "error")
    return Verdict.on(box.answer, "correct" if equal else "wrong")
