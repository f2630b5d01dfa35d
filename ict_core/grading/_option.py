r"""The letter of an option, alone or before what the option says: ``(B)``, ``\text{Option B}``, ``B. Mitochondria``."""

import re

from ict_core.grading._boxes import FONTS

_LETTER_IN_FONT = re.compile(rf"\\(?:{FONTS})\s*\{{\s*([A-Z])\s*\}}(?=[\s~]|\\[ ,;:])")
_DRESS = re.compile(rf"\\(?:{FONTS}|left|right|quad|qquad)(?![A-Za-z])|\\[\s,;:!()\[\]]|[\s~$*{{}}\"“”'‘’]")
_SPACES = re.compile(r" +")
_LEAD = re.compile(
    r"\A(?:(?:the|my|final|correct|right|best) )*(?:answer|option|choice)(?: is)?(?: ?:)? ?(?:option |choice )?"
    r"(?=\(?[A-Z]\b)",
    re.IGNORECASE,
)
_PRAISE = re.compile(r" is (?:the )?(?:correct|right|best)(?: (?:answer|option|choice))?\.?$")
_ALONE = re.compile(r"[(. ]*([A-Za-z])[). :]*")
_WITH_TEXT = re.compile(
    r"(?:\(([A-Za-z])\)[.:]?|([A-Z])[).:]"
    r"|([A-Z])(?:,(?= (?:an?|the|with|which) )|(?= \((?![A-Z]\))(?:[A-Za-z]{2}|[0-9])))"
    r"|([A-Z]) ?[—–-](?= ?[A-Za-z]{3}))(?: |(?=[0-9\\-]))(.+)"
)
_OF_SEVERAL = re.compile(
    r"(?:or|and|nor|not|is|are|was|isn't|(?:in)?correct|wrong|false\.?$|vs)(?![A-Za-z])|[,;/&+=<>|]|\\cup"
)
_ANOTHER = re.compile(
    r"\(([A-Z])\)|(?<![A-Za-z])(?:or|and|nor|not) (?:option |choice )?([A-Z])(?![A-Za-z]| ?[=:])|^([A-Z])$"
)
_OF_OPTIONS = re.compile(r"(?:both|neither|either|all|none|only)(?![A-Za-z])", re.IGNORECASE)


def option(answer: str) -> tuple[str, str] | None:
    """The capital letter that an answer names and what follows it ("" for a letter alone), or None. Linear time.

    None too where it names several letters or denies one, and for a letter in a formula or an article. What follows a
    letter may speak of other options ("D. Both A and B").
    """
    plain = _SPACES.sub(" ", _DRESS.sub(" ", _LETTER_IN_FONT.sub(r"(\1)", answer)))
    plain = plain.replace(" )", ")").replace(" :", ":").strip()
    plain = _PRAISE.sub("", _LEAD.sub("", plain))
    if alone := _ALONE.fullmatch(plain):
        return alone[1].upper(), ""
    named = _WITH_TEXT.fullmatch(plain)
    if named is None:
        return None
    letter, rest = next(filter(None, named.groups()[:4])).upper(), named[5].strip()
    if not _OF_OPTIONS.match(rest):
        others = {next(filter(None, found.groups())) for found in _ANOTHER.finditer(rest)}
        if _OF_SEVERAL.match(rest) or others - {letter}:
            return None
    return letter, rest
