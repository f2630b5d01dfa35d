r"""Numbers as people write them, brought to one form without arithmetic: linear time, and no limit on digits."""

import re

_SEPARATOR = re.compile(r"(?<=[0-9])(?:\{,\}|,\\!|\\!,|\\,|[\u00a0\u2009\u202f])(?=[0-9]{3}(?![0-9]))")
_TOKEN = re.compile(r"\\(?:[A-Za-z]+|.)|[\s~{}$*]", re.DOTALL)
_FONTS = ("text", "textbf", "textit", "textrm", "textnormal", "mathrm", "mathbf", "mathit", "mbox", "bf")
_DRESS = frozenset("\\" + name for name in (*_FONTS, "quad", "qquad", "displaystyle"))
_DRESS_MARKS = frozenset("$()[]!,;:>")
_SPACES = re.compile(r" +")
_NUMERAL = re.compile(r"([+-]?) ?([0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)?(?:\.([0-9]+))?")


def plain_separators(text: str) -> str:
    r"""Every thousands separator of LaTeX or typography (``{,}``, ``,\!``, ``\,``, a thin space) as a plain comma."""
    return _SEPARATOR.sub(",", text)


def _undressed(token: re.Match[str]) -> str:
    markup = token[0]
    kept = markup[0] == "\\" and markup not in _DRESS and markup[1] not in _DRESS_MARKS and not markup[1].isspace()
    return markup if kept else " "


def undress(answer: str) -> str:
    r"""An answer without what does not change a number; undressing twice is undressing once.

    Dollar signs, ``\text{}`` and its kin, braces, asterisks, ``\(`` and ``\)`` and spaces of any kind become one space
    where they stand between other things, and nothing at the ends; so do full stops at the end. The minus sign of
    typography becomes a hyphen, a thousands separator a comma.
    """
    spaced = _TOKEN.sub(_undressed, plain_separators(answer.replace("\u2212", "-")))
    return _SPACES.sub(" ", spaced).strip(" ").rstrip(". ")


def canonical(numeral: str) -> str | None:
    """The one form of a decimal number, such as ``-1234.5`` for ``-1,234.50``; None for anything else.

    Only ASCII digits count; commas must stand between groups of three. Equal numbers have equal forms. The result is a
    string, since Python bounds the digits that it turns into an ``int``.
    """
    match = _NUMERAL.fullmatch(numeral)
    if match is None or (match[2] is None and match[3] is None):
        return None
    whole = (match[2] or "").replace(",", "").lstrip("0") or "0"
    part = (match[3] or "").rstrip("0")
    size = f"{whole}.{part}" if part else whole
    return "-" + size if match[1] == "-" and size != "0" else size


def shifted(form: str, places: int) -> str:
    """A canonical number times ten to the power of ``places`` (not negative), again canonical."""
    whole, _, part = form.partition(".")
    moved = canonical(f"{whole}{part[:places].ljust(places, '0')}.{part[places:] or '0'}")
    assert moved is not None
    return moved
