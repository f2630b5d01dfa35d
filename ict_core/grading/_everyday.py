r"""Everyday forms of answers that math-verify does not know: clock times, amounts, words, digits in a base.

Each rule says that two answers are the same or differ, or says nothing (None). If all say nothing, math-verify decides:

* clock times, ``3:30 \text{ p.m.}``: if one of the two is a time, the other must be the same time. Without "a.m." or
  "p.m." an hour up to 12 may be in either half of the day. What may be a ratio, such as ``3:10``, is no time.
* amounts, ``\$18.90``, ``15 cm^2``, ``5 dollars``, ``1 million``: the same if the numbers are equal. Unequal numbers
  differ if either has a word that multiplies, and say nothing otherwise. Two different units of the table differ.
* words: the same regardless of case, article and the "and" of a list, or else nothing. Small numbers in words are
  compared as numbers.
* digits in a base, ``52_8``: two of these are the same only if digits and base are.
* a set in braces differs from a tuple or an interval.
"""

import re
from collections.abc import Callable

from ict_core.grading._number import POWERS, canonical, read_number
from ict_core.grading.boxes import FONTS

_FONT = re.compile(rf"\\(?:{FONTS})(?![A-Za-z])\s?")
_SPACE = re.compile(r"(?:\\[,;: ]|[\s~])+")
_TIME = re.compile(r"([01]?[0-9]|2[0-4]):([0-5][0-9])(?::([0-5][0-9]))? ?(?:([ap])\.? ?m\.?|o'clock)?", re.IGNORECASE)
_BASE = re.compile(r"\(?([0-9A-Z]+)\)?_\{?([0-9]+|[a-z]+)\}?")
_AMOUNT = re.compile(
    r"-?(?:\\?\$|[€£]) ?-?[0-9.,]+(?: million| billion| thousand)?|-?[0-9.,]+ ?(?:\\?[$%]|[€£])"
    r"|(?:\\?\$)?-?[0-9.,]+(?: (?:[a-z]{4,}|cm|mm|km|kg|ft|in|ml|lbs?|mi|yd|oz|sq|per)\.?(?: ?\^ ?[23])?){1,4}"
)
_SET = re.compile(r"\\\{(?:[^<>:|\\{}]|\\(?!mid|[gl]e|in(?!fty)|\}))*\\\}")
_TUPLE = re.compile(r"[(\[][^()\[\]]*[)\]]")
_LETTERS = {"m": "meter", "g": "gram", "s": "second", "h": "hour", "L": "liter"}
_SHORT = re.compile(r"\\(?:text|mathrm|mbox) ?\{[ ~]*([mgshL])\}")
_PREFIXES = {"milli": "m", "centi": "c", "kilo": "k"}
_UNITS = {
    **dict.fromkeys(("dollar", "$"), "$"),
    **{name: name[0:4] for name in ("cent", "second", "minute", "hour", "week", "month", "year")},
    "day": "day",
    **{short: short for short in ("mm", "cm", "m", "km", "g", "kg", "mg", "in", "ft", "yd", "mi")},
    **{p + unit: c + unit[0] for p, c in _PREFIXES.items() for unit in ("meter", "metre", "gram")},
    **{"meter": "m", "metre": "m", "gram": "g", "foot": "ft", "feet": "ft", "yard": "yd", "mile": "mi"},
    **dict.fromkeys(("inch", "inche"), "in"),  # "inches" without its s
}
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()  # noqa: SIM905 - shorter than a list
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_IN_WORDS = {word: str(n) for n, word in enumerate(_ONES)} | {word: str(10 * n) for n, word in enumerate(_TENS, 2)}
_IN_WORDS |= {f"{tens}-{_ONES[one]}": str(10 * n + one) for n, tens in enumerate(_TENS, 2) for one in range(1, 10)}
_ARTICLE = re.compile(r"(?:an?|the) ")
_WORDS = re.compile(r"[A-Za-z][A-Za-z'’, -]*[A-Za-z]")
_AND = re.compile(r",? and |, ?")


def without_fonts(answer: str) -> str:
    r"""An answer without ``\text`` and similar font commands and without braces, with single spaces."""
    plain = _FONT.sub("", answer).replace("{,}", ",").replace("{", "").replace("}", "")
    return _SPACE.sub(" ", plain).strip(" .")


def same_everyday(given: str, wanted: str) -> bool | None:
    """Whether two answers without dollar signs are the same; None if this module cannot tell. Linear time."""
    sides = [side.replace("\\left", "").replace("\\right", "").strip() for side in (given, wanted)]
    if any(_SET.fullmatch(a) and _TUPLE.fullmatch(b) for a, b in (sides, sides[::-1])):
        return False
    pair = [without_fonts(_SHORT.sub(lambda unit: f" {_LETTERS[unit[1]]}", side)) for side in (given, wanted)]
    rules: tuple[Callable[[str, str], bool | None], ...] = (_times, _bases, _words, _amounts)
    return next((known for rule in rules if (known := rule(pair[0], pair[1])) is not None), None)


def _seconds(answer: str) -> tuple[int, bool] | None:
    """A clock time in seconds since midnight, and whether its half of the day is known; None for other answers."""
    time = _TIME.fullmatch(answer)
    if time is None:
        return None
    hour, half = int(time[1]), (time[4] or "").lower()
    if half:
        hour = hour % 12 + 12 * (half == "p")
    return 3600 * hour + 60 * int(time[2]) + int(time[3] or 0), bool(half) or hour > 12 or time[1] in ("0", "00")


def _times(given: str, wanted: str) -> bool | None:
    one, other = _seconds(given), _seconds(wanted)
    if not any(re.search(r":0|[a-z]", side, re.I) for side, time in ((given, one), (wanted, other)) if time):
        return None
    if one is None or other is None:
        return False
    return one[0] == other[0] if one[1] and other[1] else one[0] % 43200 == other[0] % 43200


def _bases(given: str, wanted: str) -> bool | None:
    one, other = _BASE.fullmatch(given), _BASE.fullmatch(wanted)
    if not one or not other or not one[1][0].isdigit():
        return None
    bases = {_IN_WORDS.get(side[2], side[2]) for side in (one, other)}
    return len(bases) == 1 and one[1].lstrip("0") == other[1].lstrip("0")


def _words(given: str, wanted: str) -> bool | None:
    one, other = (_ARTICLE.sub("", side.lower(), count=1) for side in (given, wanted))
    if one in _IN_WORDS or other in _IN_WORDS:
        numbers = [canonical(_IN_WORDS.get(side, side)) for side in (one, other)]
        return None if None in numbers else numbers[0] == numbers[1]
    words = all(_WORDS.fullmatch(side) for side in (given, wanted))
    return True if words and len({_AND.sub(", ", side.replace("-", " ")) for side in (one, other)}) == 1 else None


def _unit(answer: str) -> set[str]:
    """The units of an amount that are in the table, in one spelling."""
    words = re.findall(r"[A-Za-z]+|\$", answer.lower())
    return {_UNITS[name] for word in words for name in (word, word.removesuffix("s")) if name in _UNITS}


def _amounts(given: str, wanted: str) -> bool | None:
    if not all(canonical(side) is not None or _AMOUNT.fullmatch(side) for side in (given, wanted)):
        return None
    one, other = read_number(given), read_number(wanted)
    if len({"dozen" in side for side in (given, wanted)}) == 2:
        return False
    if one is None or other is None:
        return None
    units = _unit(given), _unit(wanted)
    if all(units) and not units[0] & units[1]:
        return False
    if one == other:
        return True
    return False if any(word in side for side in (given, wanted) for word in POWERS) else None
