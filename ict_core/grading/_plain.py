r"""Conversion to LaTeX, for math-verify, of mathematics that people and models write without it.

Only what math-verify misreads or does not read is converted; an answer without any of these is unchanged:

* ``45°``, ``√3``, ``π``, ``≠``, ``≤``, ``∞``, ``∪``, ``−``, ``×``, ``·``, fractions in one character, ``½``, ``<=``;
* ``sqrt(3)`` and ``sin x`` without a backslash, ``pi`` as a word of its own or after a number, a power ``2**3``;
* ``1e3``;
* a mixed number that is the whole answer, ``1 1/2``; ``0.1\overline{6}``; ``C(5,2)`` and ``_5C_2``;
* what separates two equations, as in ``x = 1 \lor x = 2``, which would be read as a chain;
* an equation with a single letter alone on its right, ``2 = x``; ``\approx`` before the answer, ``\pmod{n}`` after it;
* a ratio in words, ``2 to 1``; one ``\pm`` as two answers; a vector in angle brackets as a tuple; ``\emptyset``;
* trigonometric functions of a number of degrees, which would be read as radians without the degree sign;
* a second quantity, and words that change a number, where math-verify would cut all from the first unit on:
  ``3\text{ hours }30\text{ minutes}``, ``4\text{ or more}``.

An inequality becomes an interval: ``-2 \le x < 7`` is ``[-2, 7)``, and ``x > 5 \text{ or } x < 1`` a union of two.
"""

import re

from ict_core.grading.boxes import FONTS

_SIGNS = str.maketrans(
    {"°": r"^\circ ", "π": r"\pi ", "≠": r"\neq ", "−": "-", "×": r"\times ", "·": r"\cdot ", "±": r"\pm "}
    | {"≤": r"\le ", "≥": r"\ge ", "∞": r"\infty ", "∪": r"\cup ", "∈": r"\in "}
    | {
        sign: rf"\frac{{{n}}}{{{d}}}"
        for sign, n, d in (("½", 1, 2), ("⅓", 1, 3), ("⅔", 2, 3), ("¼", 1, 4), ("¾", 3, 4))
    }
)
_ROOT = re.compile(
    r"(?:√|(?<![A-Za-z\\])sqrt) *"
    r"(?:\(((?:[^()]|\([^()]{1,40}\)){1,80})\)|\{([^{}]{1,40})\}|([0-9]{1,20}|[A-Za-z](?![A-Za-z])))"
)
_FUNCTION = re.compile(r"(?<![A-Za-z\\{])(sin|cos|tan|cot|sec|csc|ln|log|exp)(?=[ (^0-9])")
_PI = re.compile(r"(?<![A-Za-z\\])pi(?![A-Za-z])")
_POWER = re.compile(r"\*\* *(-?[0-9]{1,20}|[A-Za-z]|\((?:[^()]{1,40})\))")
_SCIENTIFIC = re.compile(r"(-?[0-9]{1,20}(?:\.[0-9]{1,20})?)[eE]\+?(-?[0-9]{1,3})")
_MIXED = re.compile(r"(-?)([0-9]{1,20}) +([0-9]{1,20}) */ *([0-9]{1,20})")
_RATIO = re.compile(r"([0-9]{1,20}) *(?:to|\\text *\{ *to *\}) *([0-9]{1,20})")
_REPEATING = re.compile(r"([0-9]{0,10})\.([0-9]{0,10})\\overline *\{([0-9]{1,10})\}")
_CHOOSE = re.compile(
    r"(?<![A-Za-z])C\( *([0-9]{1,6}) *, *([0-9]{1,6}) *\)|(?:\{\})?[_^]\{?([0-9]{1,6})\}? *C_\{?([0-9]{1,6})\}?"
)
_VECTOR = re.compile(r"\\langle(?![A-Za-z])(.*)\\rangle")
_LINE_BREAK = re.compile(r"\\\\ *\[[0-9.]{1,9} *[a-z]{2}\]")
_COLUMN = re.compile(r"\\begin\{([bp]matrix)\}([^&]*)\\end\{\1\}")
_MODULO = re.compile(r" {0,9}(?:\\pmod *(?:\{[^{}]{1,20}\}|[0-9]{1,20})|\(mod [0-9]{1,20}\))")
_MODULUS = re.compile(r"(?:\\[pb]?|(?<![A-Za-z\\]))mod(?![A-Za-z]) *(?:\{([^{}]{1,20})\}|([0-9]{1,20}))")
_PADDING = r"(?:\s|\\[,;: ]|\\q?quad){0,9}"
_NEXT = re.compile(
    rf"(?<=[^\s=\\]){_PADDING}(?:\\(?:lor|vee|land|wedge)(?![A-Za-z])|[∨∧]"
    rf"|(?:\\(?:{FONTS}) ?\{{)?[ ,]{{0,9}}(?<![A-Za-z\\])(?:or|and)(?![A-Za-z]) ?\}}?)"
    rf"(?={_PADDING}[A-Za-z](?:_\{{?[0-9]\}}?)? *=)"
)
_AGAIN = re.compile(r"(?<![A-Za-z\\])([A-Za-z])( ?= ?-?[0-9.]{1,20}) ?(?:\\q?quad|\\\\|\\[,;: ]) *(?=\1 ?=)")
_ABOUT = re.compile(r"\\(?:approx|simeq)(?![A-Za-z]) *|≈ *")
_LINES = ((r"\degree", r"^\circ "), (r"\emptyset", r"\varnothing"), ("<=", r"\le "), (">=", r"\ge "), ("!=", r"\neq "))
_FONT_GROUP = re.compile(rf"\\(?:{FONTS})\s*\{{([^{{}}]*)\}}")
_CHANGING = re.compile(
    r"(?<![A-Za-z])(?:half|halves|quarter|(?:third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|hundredth|thousandth)s?"
    r"(?! grade)|squared|cubed|factorial|dozens?|or (?:more|less|fewer)|at (?:most|least))(?![A-Za-z])"
)
_FACTOR = re.compile(r"(?<!\^)(?<!\^\{)[0-9]")
_TURNED = re.compile(r"([^=<>A-Za-z\\][^=<>]*|\\[^=<>]*[^=<> ]) *= *([A-Za-z])")
_DEGREES = re.compile(
    r"\\(sin|cos|tan|cot|sec|csc)(?: *\\left)? *(?:\(|\{)? *(-?[0-9]{1,6}(?:\.[0-9]{1,6})?)"
    r" *\^ *(?:\{ *\\circ *\}|\\circ) *(?:\\right)?(?:\)|\})?"
)
_RELATION = re.compile(r"\\(leq?|geq?|leqslant|geqslant|lt|gt)(?![A-Za-z])|(<=|>=|<|>)")
_ORDERS = {"le": "<=", "leq": "<=", "leqslant": "<=", "lt": "<", "ge": ">=", "geq": ">=", "geqslant": ">=", "gt": ">"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OR = re.compile(r"\\(?:text|mathrm|mbox)\s*\{\s*or\s*\}|(?<![A-Za-z\\])or(?![A-Za-z])|\\cup|\\lor")
_WIDE = re.compile(r"\\q?quad(?![A-Za-z])|\\[,;: ]")
_VARIABLE = re.compile(r"[A-Za-z]|\\(?:theta|alpha|beta|lambda)")
_MEMBER = re.compile(r"([A-Za-z]) ?\\in(?![A-Za-z]) ?")
_SET = re.compile(r"\\\{ ?([A-Za-z]) ?(?:\\in ?\\mathbb ?\{?R\}? ?)?(?:\\mid|\||:) ?(.+)\\\}")
_LIKE_INTERVAL = re.compile(r"(?:\\left)? ?[(\[].*,.*[)\]]")


def as_latex(answer: str) -> str:
    """The answer with these notations as LaTeX. Linear time."""
    answer = _LINE_BREAK.sub(r"\\\\", answer.translate(_SIGNS))
    for sign, latex in _LINES:
        answer = answer.replace(sign, latex)
    answer = _ABOUT.sub("", answer, count=1) if _ABOUT.match(answer) else answer
    answer = _MODULO.sub("", answer).replace(r"\equiv", "=")
    left, equals, right = answer.partition("=")
    answer = _AGAIN.sub(r"\1\2, ", left + equals + _NEXT.sub(", ", right))
    answer = _ROOT.sub(lambda m: rf"\sqrt{{{m[1] or m[2] or m[3]}}}", answer)
    answer = _FUNCTION.sub(r"\\\1", answer)
    answer = _PI.sub(r"\\pi ", answer)
    answer = _POWER.sub(lambda m: f"^{{{m[1]}}}", answer)
    answer = _REPEATING.sub(_fraction, answer)
    answer = _CHOOSE.sub(lambda m: rf"\binom{{{m[1] or m[3]}}}{{{m[2] or m[4]}}}", answer)
    answer = _DEGREES.sub(lambda m: rf"\{m[1]}\left(\frac{{{m[2]}\pi}}{{180}}\right)", answer)
    answer = _VECTOR.sub(r"(\1)", answer)
    answer = inside_fonts(answer) if _more_than_a_unit(answer) else answer
    if scientific := _SCIENTIFIC.fullmatch(answer.strip()):
        return rf"{scientific[1]} \times 10^{{{scientific[2]}}}"
    if ratio := _RATIO.fullmatch(answer.strip()):
        return f"{ratio[1]}:{ratio[2]}"
    if mixed := _MIXED.fullmatch(answer.strip()):
        return rf"{mixed[1]}\left({mixed[2]}+\frac{{{mixed[3]}}}{{{mixed[4]}}}\right)"
    if turned := _TURNED.fullmatch(answer.strip()):
        return f"{turned[2]}={turned[1].strip()}"
    return answer


def _more_than_a_unit(answer: str) -> bool:
    """Whether math-verify would take for a unit what has another number in it, or words that change the number."""
    groups = [*_FONT_GROUP.finditer(answer)]
    if not groups or groups[-1].end() != len(answer):
        return False
    *before, last = groups
    first = next((group for group in before if group[1].strip() not in ("", "and", "or")), last)
    return bool(_CHANGING.search(last[1]) or _FACTOR.search(answer, first.end(), last.start()))


def moduli(answer: str) -> str:
    r"""The numbers after ``\pmod`` and the like, as a list without repetitions; "" if there are none. Linear time."""
    return ", ".join(dict.fromkeys(found[1] or found[2] for found in _MODULUS.finditer(inside_fonts(answer))))


def both_signs(answer: str) -> str:
    r"""An answer with one ``\pm`` as two answers, with plus and with minus; anything else as it is."""
    alone = answer.count(r"\pm") == 1 and "," not in answer
    return ", ".join(answer.replace(r"\pm", sign) for sign in "+-") if alone else answer


def _fraction(decimal: re.Match[str]) -> str:
    integer, decimals, period = decimal[1] or "0", decimal[2], decimal[3]
    numerator = int(integer + decimals + period) - int(integer + decimals)
    return rf"\frac{{{numerator}}}{{{'9' * len(period)}{'0' * len(decimals)}}}"


def as_tuple(answer: str) -> str:
    """A matrix of one column as a tuple; anything else as it is."""
    column = _COLUMN.fullmatch(answer.strip())
    return "(" + ", ".join(column[2].split(r"\\")) + ")" if column else answer


def inside_fonts(answer: str) -> str:
    r"""An answer with ``\text{...}`` and similar font commands replaced by their content."""
    return _FONT_GROUP.sub(r"\1", answer)


_UNEQUAL = re.compile(r"\\neq?(?![A-Za-z])")


def sides_of_inequation(answer: str) -> tuple[str, str] | None:
    r"""The two sides of a single ``\neq``, which math-verify does not know; None for an answer without one."""
    sides = _UNEQUAL.split(answer)
    return (sides[0].strip(), sides[1].strip()) if len(sides) == 2 and all(side.strip() for side in sides) else None


def looks_like_interval(answer: str) -> bool:
    r"""Whether an answer begins and ends as an interval or a union of intervals, even with ``x \in`` before it."""
    return _LIKE_INTERVAL.fullmatch(_MEMBER.sub("", answer, count=1).strip()) is not None


def as_interval(answer: str) -> str | None:
    """The interval that an inequality in one variable describes, or None for anything else. Linear time."""
    answer = _WIDE.sub(" ", answer)
    within = _SET.fullmatch(answer.strip())
    pieces = [piece for text in _OR.split(within[2] if within else answer) if (piece := _piece(text))]
    if len(pieces) != len(_OR.findall(answer)) + 1 or len({variable for variable, _ in pieces}) != 1:
        return None
    if within and pieces[0][0] != within[1]:
        return None
    return r" \cup ".join(interval for _, interval in pieces)


def _piece(text: str) -> tuple[str, str] | None:
    """The variable and the interval of one inequality."""
    parts = _RELATION.split(text)
    sides = [side.strip(" ,") for side in parts[::3]]
    signs = [_ORDERS.get(name, sign) for name, sign in zip(parts[1::3], parts[2::3], strict=True)]
    if not all(sides) or len(sides) not in (2, 3) or any("=" in side for side in sides):
        return None
    if len(sides) == 2 and _VARIABLE.fullmatch(sides[1]) and not _VARIABLE.fullmatch(sides[0]):
        sides, signs = sides[::-1], [_MIRRORED[signs[0]]]
    if len(sides) == 2 and _VARIABLE.fullmatch(sides[0]):
        below, above = rf"(-\infty,{sides[1]}", rf"{sides[1]},\infty)"
        ends = {"<": f"{below})", "<=": f"{below}]", ">": f"({above}", ">=": f"[{above}"}
        return sides[0], ends[signs[0]]
    if len(sides) == 3 and _VARIABLE.fullmatch(sides[1]) and signs[0][0] == signs[1][0]:
        if signs[0][0] == ">":
            sides, signs = sides[::-1], [_MIRRORED[sign] for sign in signs[::-1]]
        opened, closed = "[" if signs[0] == "<=" else "(", "]" if signs[1] == "<=" else ")"
        return sides[1], f"{opened}{sides[0]},{sides[2]}{closed}"
    return None
