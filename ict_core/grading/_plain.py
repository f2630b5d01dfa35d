r"""Ways in which people and models write mathematics without LaTeX, as LaTeX, before math-verify reads it.

Each changes only what math-verify reads otherwise or not at all; an answer that has none of these stays as it is:

* ``45°``, ``√3``, ``π``, ``≠``, ``−``, ``×``, ``·``, and fractions in one character, ``½``;
* ``pi`` as a word of its own or after a number, a power ``2**3``;
* a mixed number that is the whole answer, ``1 1/2``;
* an equation with a single letter alone on its right, ``2 = x``;
* sine, cosine and tangent of a number of degrees, which are of radians once the degree sign is gone.
"""

import re

_SIGNS = str.maketrans(
    {"°": r"^\circ ", "π": r"\pi ", "≠": r"\neq ", "−": "-", "×": r"\times ", "·": r"\cdot "}
    | {
        sign: rf"\frac{{{n}}}{{{d}}}"
        for sign, n, d in (("½", 1, 2), ("⅓", 1, 3), ("⅔", 2, 3), ("¼", 1, 4), ("¾", 3, 4))
    }
)
_ROOT = re.compile(r"√ *(?:\(([^()]{1,40})\)|\{([^{}]{1,40})\}|([0-9]{1,20}|[A-Za-z]))")
_PI = re.compile(r"(?<![A-Za-z\\])pi(?![A-Za-z])")
_POWER = re.compile(r"\*\* *(-?[0-9]{1,20}|[A-Za-z]|\((?:[^()]{1,40})\))")
_MIXED = re.compile(r"(-?)([0-9]{1,20}) +([0-9]{1,20}) */ *([0-9]{1,20})")
_TURNED = re.compile(r"([^=<>A-Za-z\\][^=<>]*|\\[^=<>]*[^=<> ]) *= *([A-Za-z])")
_DEGREES = re.compile(
    r"\\(sin|cos|tan|cot|sec|csc)(?: *\\left)? *(?:\(|\{)? *(-?[0-9]{1,6}(?:\.[0-9]{1,6})?)"
    r" *\^ *(?:\{ *\\circ *\}|\\circ) *(?:\\right)?(?:\)|\})?"
)


def as_latex(answer: str) -> str:
    """The answer with these forms as LaTeX; linear time."""
    answer = answer.translate(_SIGNS)
    answer = _ROOT.sub(lambda m: rf"\sqrt{{{m[1] or m[2] or m[3]}}}", answer)
    answer = _PI.sub(r"\\pi ", answer)
    answer = _POWER.sub(lambda m: f"^{{{m[1]}}}", answer)
    answer = _DEGREES.sub(lambda m: rf"\{m[1]}\left(\frac{{{m[2]}\pi}}{{180}}\right)", answer)
    if mixed := _MIXED.fullmatch(answer.strip()):
        return rf"{mixed[1]}\left({mixed[2]}+\frac{{{mixed[3]}}}{{{mixed[4]}}}\right)"
    if turned := _TURNED.fullmatch(answer.strip()):
        return f"{turned[2]}={turned[1].strip()}"
    return answer


_UNEQUAL = re.compile(r"\\neq?(?![A-Za-z])")


def sides_of_inequation(answer: str) -> tuple[str, str] | None:
    r"""What stands on either side of a single ``\neq``, of which math-verify knows nothing; None without one."""
    sides = _UNEQUAL.split(answer)
    return (sides[0].strip(), sides[1].strip()) if len(sides) == 2 and all(side.strip() for side in sides) else None
