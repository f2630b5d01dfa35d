r"""Inequalities as intervals: ``-2 \le x < 7`` is ``[-2, 7)``, ``x > 5 \text{ or } x < 1`` a union of two."""

import re

_RELATION = re.compile(r"\\(leq?|geq?|leqslant|geqslant|lt|gt)(?![A-Za-z])|(<=|>=|<|>)")
_SIGNS = {"le": "<=", "leq": "<=", "leqslant": "<=", "lt": "<", "ge": ">=", "geq": ">=", "geqslant": ">=", "gt": ">"}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OR = re.compile(r"\\(?:text|mathrm|mbox)\s*\{\s*or\s*\}|(?<![A-Za-z\\])or(?![A-Za-z])|\\cup|\\lor")
_VARIABLE = re.compile(r"[A-Za-z]|\\(?:theta|alpha|beta|lambda)")
_MEMBER = re.compile(r"([A-Za-z]) ?\\in(?![A-Za-z]) ?")
_SET = re.compile(r"\\\{ ?([A-Za-z]) ?(?:\\in ?\\mathbb ?\{?R\}? ?)?(?:\\mid|\||:) ?(.+)\\\}")
_LIKE_INTERVAL = re.compile(r"(?:\\left)? ?[(\[].*,.*[)\]]")


def looks_like_interval(answer: str) -> bool:
    r"""Whether an answer begins and ends as an interval or a union of intervals, ``x \in`` before it or not."""
    return _LIKE_INTERVAL.fullmatch(_MEMBER.sub("", answer, count=1).strip()) is not None


def as_interval(answer: str) -> str | None:
    """The interval that an inequality in one variable describes, or None for anything else. Linear time."""
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
    signs = [_SIGNS.get(name, sign) for name, sign in zip(parts[1::3], parts[2::3], strict=True)]
    if not all(sides) or len(sides) not in (2, 3) or any("=" in side for side in sides):
        return None
    if len(sides) == 2 and _VARIABLE.fullmatch(sides[1]) and not _VARIABLE.fullmatch(sides[0]):
        sides, signs = sides[::-1], [_TURNED[signs[0]]]
    if len(sides) == 2 and _VARIABLE.fullmatch(sides[0]):
        below, above = rf"(-\infty,{sides[1]}", rf"{sides[1]},\infty)"
        ends = {"<": f"{below})", "<=": f"{below}]", ">": f"({above}", ">=": f"[{above}"}
        return sides[0], ends[signs[0]]
    if len(sides) == 3 and _VARIABLE.fullmatch(sides[1]) and signs[0][0] == signs[1][0]:
        if signs[0][0] == ">":
            sides, signs = sides[::-1], [_TURNED[sign] for sign in signs[::-1]]
        opened, closed = "[" if signs[0] == "<=" else "(", "]" if signs[1] == "<=" else ")"
        return sides[1], f"{opened}{sides[0]},{sides[2]}{closed}"
    return None
