r"""Answers that are numbers: with or without a unit, as in GSM8K, and integers from 0 to 999, as in the AIME.

Both kinds are brought to one form without arithmetic: linear time, and no limit on digits.

The rule for ``number``, in this order:

1. The last line ``#### N`` or the last box counts, whichever begins later. A line counts only if the text after the
   four signs, up to a parenthesis, is a number decorated as in rule 2; others are headings, and so is "1 Find the
   cost". Without both, what the text declares counts ("the answer is 18") if it is a number or a formula, or if it
   begins with a decorated number before a parenthesis, a colon, a comma or "out of"; a "!" at its end does not count.
   Otherwise its last number counts, but "x = 5 or x = 6" as a whole, and none that the text denies or bounds ("the
   answer is not 5") or takes back ("Wait, no"). An empty box, or a text without a number, is ``no_answer``.
2. Decoration does not matter: dollar signs and other currencies, thousands separators (``1,234``, ``1{,}234``,
   ``1\,234``), ``\text{}`` and the like, a unit of a few words, a percent or degree sign, a full stop at the end. Equal
   decimals are equal: ``42.0`` is 42, and ``50%`` is 50. The unit is not compared, since no gold answer has one. ``5
   million`` is 5000000 and ``2 1/2`` is 2.5. With another word that changes the value (``dozen``, ``tenths``) an
   answer is ``wrong``.
3. A box that holds something else, such as ``\frac{36}{2}``, is compared by math-verify (``ict_core.grading.math``). A
   last number that is part of something else, as in ``3/4``, ``\frac{\sqrt3}{2}``, ``x/2``, ``2x``, ``3\pi``,
   ``10^{3}``, ``5:30`` or ``1,23``, is ``wrong``; the power of a unit (``cm^2``) is none.

The rule for ``integer``, in this order:

1. The last box counts. Without a box the answer counts that the text declares or that its last sentence gives
   (:mod:`ict_core.grading._prose`). An empty box, or none of these, is ``no_answer``: no number is picked out of prose.
2. Dollar signs, ``\text{}`` and the like, parentheses, a full stop at the end, zero padding (``033``), commas between
   thousands and a decimal part of zeros (``33.0``) do not matter. An ASCII numeral that remains is compared as one.
3. A box that holds something else, such as ``m+n=33`` or ``\frac{66}{2}``, is compared by math-verify too.
"""

import re
from itertools import pairwise

from ict_core.grading._prose import TAKEN_BACK, answer_in_prose
from ict_core.grading.boxes import FONTS, Verdict, last_box, last_match, stripped

_SEPARATOR = re.compile(r"(?<=[0-9])(?:\{,\}|,\\!|\\!,|\\,|[\u00a0\u2009\u202f])(?=[0-9]{3}(?![0-9]))")
_TOKEN = re.compile(r"\\(?:[A-Za-z]+|.)|[\s~{}$*]", re.DOTALL)
_DRESS = frozenset("\\" + name for name in (*FONTS.split("|"), "quad", "qquad", "displaystyle"))
_DRESS_MARKS = frozenset("$()[]!,;:>")
_SPACES = re.compile(r" +")
_NUMERAL = re.compile(r"([+-]?) ?([0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)?(?:\.([0-9]+))?")


def plain_separators(text: str) -> str:
    r"""A text with each thousands separator (``{,}``, ``,\!``, ``\,``, a thin space) replaced by a plain comma."""
    return _SEPARATOR.sub(",", text)


def _undressed(token: re.Match[str]) -> str:
    markup = token[0]
    kept = markup[0] == "\\" and markup not in _DRESS and markup[1] not in _DRESS_MARKS and not markup[1].isspace()
    return markup if kept else " "


def undress(answer: str) -> str:
    r"""An answer without decoration that does not change a number; undressing twice is undressing once.

    Dollar signs, ``\text{}`` and the like, braces, asterisks, ``\(`` and ``\)`` and spaces of any kind become one space
    between other characters. At the ends they are removed, and so are full stops at the end. A typographic minus sign
    becomes a hyphen, a thousands separator a comma.
    """
    spaced = _TOKEN.sub(_undressed, plain_separators(answer.replace("\u2212", "-")))
    return _SPACES.sub(" ", spaced).strip(" ").rstrip(". ")


def canonical(numeral: str) -> str | None:
    """The one form of a decimal number, such as ``-1234.5`` for ``-1,234.50``; None for anything else.

    Only ASCII digits count; commas must separate groups of three. Equal numbers have equal forms. The result is a
    string, since Python limits the digits that it converts to an ``int``.
    """
    match = _NUMERAL.fullmatch(numeral)
    if match is None or (match[2] is None and match[3] is None):
        return None
    integer = (match[2] or "").replace(",", "").lstrip("0") or "0"
    decimals = (match[3] or "").rstrip("0")
    size = f"{integer}.{decimals}" if decimals else integer
    return "-" + size if match[1] == "-" and size != "0" else size


def shifted(form: str, places: int) -> str | None:
    """A canonical number times ten to the power of ``places`` (not negative), again canonical."""
    integer, _, decimals = form.partition(".")
    return canonical(f"{integer}{decimals[:places].ljust(places, '0')}.{decimals[places:] or '0'}")


def _read(answer: str) -> str | None:
    """The canonical number of a decorated answer, which may be in parentheses."""
    plain = undress(answer)
    return canonical(plain[1:-1].strip(" ") if plain.startswith("(") and plain.endswith(")") else plain)


def settle_integer(text: str, gold: str) -> Verdict | str:
    """The verdict if rules 1 and 2 give one, else the answer; ``error`` for an invalid gold answer. Linear time."""
    box = last_box(text)
    answer = box.answer if box else answer_in_prose(text).rstrip("!")
    if not answer:
        return Verdict("no_answer")
    given, expected = _read(answer), _read(gold)
    if expected is None or not expected.isdecimal() or len(expected) > 3:
        return Verdict.on(answer, "error")
    if given is None:
        return answer
    return Verdict.on(answer, "correct" if given == expected else "wrong")


_MARKER = re.compile(r"#### ?([^\n]{1,200})")
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?) ?(?:(?:US|USD|EUR|GBP|Rs\.?|[€£¥₹]) ?)?(?P<size>[+-]?[0-9.,]*[0-9])"
    r" ?(?:\\?%|\^? ?\\circ|°)?(?P<unit>.*)"
)
_UNIT_WORD = re.compile(r"[A-Za-z][A-Za-z.'’-]*(?:\^ ?[23]|[²³])?|[€£¥₹]")
_UNIT_LETTERS = frozenset("mgLlshCF€£¥₹")
_UNIT_WORDS = 6
POWERS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_PARTS = "third fourth fifth sixth seventh eighth ninth tenth hundredth thousandth".split()  # noqa: SIM905
_FRACTIONS = {"dozen", "dozens", "half", "halves", "quarter", *_PARTS, *(f"{part}s" for part in _PARTS)}
_OPERATIONS = {"and", "or", "to", "pi", "sqrt", "squared", "cubed", "times", "plus", "minus", "over", "mod", "choose"}
_OPERATIONS |= {"factorial"}
_NOT_UNITS = _FRACTIONS | _OPERATIONS
_STEPS = {"add", "calculate", "check", "compute", "convert", "determine", "divide", "find", "multiply", "solve"}
_STEPS |= {"subtract", "write"}  # with which a heading goes on after its number
_FORMULA = re.compile(r"(?:\\[A-Za-z]+|[^A-Za-z\\]|(?<![A-Za-z])[A-Za-z](?![A-Za-z])|or|and)+")
_MIXED = re.compile(r"(?<![0-9.,/:^_-])[0-9]{1,9} (?=[0-9]{1,4}/[0-9]{1,4}\Z)")
_BEGUN = re.compile(r" \(|[:;](?= )|, | out of ")
_EITHER = re.compile(r"(?<![A-Za-z])([A-Za-z]) ?= ?-?[0-9.,]{1,20} or (?:\1 ?= ?)?\Z")
_RUN = re.compile(r"(?<![A-Za-z0-9_])(?:(?<![0-9A-Za-z)\]}.])-)?[€£¥₹]?\.?[0-9](?:(?:[.,/:^]{0,2}|\^-)[0-9])*")
_FRACTION = re.compile(r"(-?) ?\\[dt]?frac ?(?:\{([^{}]{1,20})\}|([0-9])) ?(?:\{([^{}]{1,20})\}|([0-9]))")
_UNIT_POWER = re.compile(r"(?<=[A-Za-z])\}? ?\^ ?(?:\{[23]\}|[23](?![0-9]))")
_POWER = re.compile(r"\^ ?\{ ?(-?[0-9]{1,9}) ?\}")
_DENIED = re.compile(
    r"(?i)ans(?:wer)?s?\s(?:(?:is|are|was|could|will|would|should)(?:n['’]t|\snot)|can(?:['’]t|\s?not)|(?:is|are|must\sbe)"
    r"\s(?:never|neither|either|between|at\s(?:least|most)|(?:more|less|greater|fewer|smaller|larger)\sthan))"
    r"\s(?:(?!but\s)[^.,;!?\n]){0,40}\Z"
)
_PART = re.compile(r"(?:√|sqrt) ?\(?\Z|(?<![wW])/ ?\Z|(?:[]}^_]|\\(?:sqrt|[cdt]?(?:frac|binom))) ?\{[^{}]{0,40}\Z")
_GOES_ON = re.compile(r" ?(?:\\?pi(?![A-Za-z])|\\?sqrt|[√π])|\^ ?\{|/ ?\(|/?[nxyz](?![A-Za-z])")


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
    """The canonical form of a decorated number, or None for any other answer. Linear time."""
    quantity = _quantity(answer)
    if quantity is None:
        return None
    form, words = quantity
    power = POWERS[words.pop(0)] if words and words[0] in POWERS else 0
    parts = [word for word, after in pairwise([*words, ""]) if not after.startswith("grade")]  # but "fifth graders"
    changed = any(word in _NOT_UNITS or word.removesuffix("s") in POWERS for word in parts)
    return None if changed else shifted(form, power)


def settle_number(text: str, gold: str) -> Verdict | str:
    """The verdict if rules 1 and 2 give one, else the answer; ``error`` for an invalid gold answer. Linear time."""
    box = last_box(text)
    marked: re.Match[str] | None = None
    for match in _MARKER.finditer(text):
        number = _quantity(match[1].partition(" (")[0])
        if number is not None and not _STEPS.intersection(number[1][:1]):
            marked = match
    stated = True  # not just the last number
    if box and (marked is None or text.rfind(box.markup) > marked.start()):
        answer = box.answer
    elif marked:
        answer = stripped(marked[1].partition(" (")[0])
    elif not (answer := _declared(text)):
        answer = _last_number(text)
        stated = " " in answer  # a mixed number or two values are read by math-verify
    if not answer:
        return Verdict("no_answer")
    expected = read_number(gold)
    if expected is None:
        return Verdict.on(answer, "error")
    given = read_number(answer)
    if given is None and stated and _quantity(answer) is None:
        return answer
    return Verdict.on(answer, "correct" if given == expected else "wrong")


def _declared(text: str) -> str:
    """What a text declares, if that is a number or a formula with digits or begins with a number; else ""."""
    said = answer_in_prose(text, sentences=False).rstrip("!")
    if not said or (_FORMULA.fullmatch(said) and any(map(str.isdigit, said))):
        return said
    beginning = _BEGUN.split(said, maxsplit=1)[0]
    return next((part for part in (said, beginning) if _quantity(part) is not None), "")


def _last_number(text: str) -> str:
    """The last number that is not taken back, with "…" where it is part of something else; "" if it is denied."""
    back = last_match(TAKEN_BACK, text)
    text = text[back.end() :] if back else text
    text = plain_separators(text.replace("\\$", "").replace("$", ""))
    text = _POWER.sub(r"^\1", _UNIT_POWER.sub("", _FRACTION.sub(r" \1\2\3/\4\5", text)))
    run = last_match(_RUN, text)
    if run is None:
        return ""
    before = text[max(0, run.start() - 80) : run.start()]
    if _DENIED.search(before):
        return ""
    if _PART.search(before) or _GOES_ON.match(text, run.end()):
        return f"…{run[0]}…"
    begun = _MIXED.search(text, max(0, run.start() - 10), run.end()) or _EITHER.search(before)
    return begun[0] + run[0] if begun else run[0]
