r"""Answers to multiple-choice questions: one letter, A to D.

The rule, in this order:

1. The last box counts. It holds a letter alone, in either case, or a letter before the option's text: ``\boxed{(B)}``,
   ``\boxed{\text{Option B}}``, ``\boxed{\text{Answer: B}}``, ``\boxed{B. Mitochondria}``, ``\boxed{\textbf{(B) } 73}``.
   A letter before words needs parentheses, a full stop, a colon, a dash or a font of its own: "A man" names none.
   Fonts, dollar signs, asterisks and quotation marks do not matter.
2. A box that names no letter or several ("A or B"), or says what an option is not ("(B) is wrong"), is ``no_answer``,
   even if an earlier box names a letter, unless the text declares a letter after it. A letter that is declared after
   the box is taken back ("Wait, that is wrong") counts in its place.
3. Without a box the last declaration counts: "the answer is B", "ANSWER: (C)", "the correct choice is B" (see
   :mod:`ict_core.grading._prose`), "option B is correct", "(B) is the right answer", "I choose B", "hence, B". Its
   letter is a capital, or is in parentheses, or is all that is declared. A declaration that names several letters, or
   denies one, is ``no_answer``. "I don't think that B is correct", "A is the best approximation for small x", "we
   choose A = 1" and "the answer is a consequence of" declare nothing. Here and in rule 4 nothing counts that is taken
   back later; "Wait, let me check" takes nothing back if no other declaration follows, nor a word such as "wrong".
4. Without a declaration the first of these counts: a last line "#### B"; bold text at the end of the text; the whole
   text, if it is one line; a first or last line that is a letter alone; a first line that is the only one to name an
   option. Each names a letter as a box may. An option that is only mentioned, as in "(A) is too small", is no answer.
"""

import re

from ict_core.grading._prose import AFTER_WAIT, BOLD_AT_END, MARKED_AT_END, WAIT, declarations
from ict_core.grading.boxes import FONTS, Verdict, last_box
from ict_core.grading.gold import LETTERS

_DECLARED = (
    r"(?:final )?ans(?:wers?)?(?: choice| option)?|(?:correct|right|best|final|my|suitable|appropriate|accurate|likely"
    r"|closest) (?:choice|option|statement|response)"
)
_PRAISED = (  # and nothing after it that says of what: "is the best approximation only for small x"
    r"\sis\s(?:(?:the\s)?(?:correct|right|best|answer)|the\s(?:correct|right|best)\s[a-z]{1,20})(?=\s{0,9}(?:\Z|\n)"
    r"|\s(?:answer|choice|option|one|because|since|as|here|and|while|given|by|so)(?![A-Za-z])|\s[(–—-]|[^\sA-Za-z?]"
    r"|\sfor\s(?:[a-z]{1,9}\s){0,2}reasons?)"
)
_CHOSEN = re.compile(
    rf"(?:(?<![A-Za-z])(?i:option|choice|answer)\s[*$(]{{0,4}}([A-D])[*$)]{{0,4}}{_PRAISED}"
    rf"|(?<![A-Za-z])(?i:therefore|thus|hence|so),?\s[*(]{{0,3}}([A-D])[*)]{{0,3}}{_PRAISED}"
    rf"|\(([A-D])\)[*]{{0,2}}{_PRAISED}"
    r"|(?<![A-Za-z])(?i:therefore|thus|hence|so),?\s(?i:option\s|answer\s|choice\s)?[*$(]{0,4}([A-D])"
    r"(?=[*$)]{0,4}(?:\.[*$)]{0,4}\s{0,3}(?:\n|\Z)|\s{0,9}\Z))"
    r"|(?<![A-Za-z])[*(]{0,3}([A-D])[*)]{0,3}\sis\sthe\s(?:(?:correct|right|best)\s(?:answer|choice|option)"
    r"|answer(?=[.!]|\s{0,9}(?:\n|\Z)))"
    r"|(?<![A-Za-z])(?:I|[Ww]e)(?:\s(?:would|will)|['’](?:ll|d))?\s(?:choose|chose|pick|select|go\swith)"
    r"\s(?:(?i:option|answer|choice)\s)?[*$(]{0,4}([A-D])(?=[*$).,]{0,4}(?:\s|$))"
    r"(?![*$)]{0,4}\s(?:[=<>≤≥∈\\]|(?:to|so\sthat|for|as\s(?:the|our|an?))\s(?!(?:[a-z]{1,9}\s){0,2}answer)))"
    r"|(?:[Tt]hat|[Tt]his|which)\sleaves\s(?:us\swith\s)?(?:only\s)?(?i:option\s|answer\s|choice\s)?[*$(]{0,4}([A-D])(?=[*$).,]{0,4}(?:\s|$))"
    r"|(?:remaining|only)\s(?:option|answer|choice)(?:\sleft)?(?:,|\sis)\s[*$(]{0,4}([A-D])(?=[*$).,]{0,4}(?:\s|$))"
    r"|(?:which\sis|correspond(?:s|ing)\sto|match(?:es|ing)(?:\swith)?|aligns\swith)"
    r"\s(?i:(?:answer\s)?(?:option|choice)|answer)\s[*$(]{0,4}([A-D])(?=[*$).,]{0,4}(?:\s|$))"
    r")(?!\s(?:answer\s|option\s|choice\s)?(?:if|only|when))"
)
_BEFORE = 80  # characters before a chosen option in which it may be denied or doubted
_NOT_CHOSEN = re.compile(
    r"(?:n['’]t|(?<![A-Za-z])(?i:not|cannot|never|unlikely|if|whether|unless|why|(?:may|might)\s(?:be|seem|appear)"
    r"|(?:one|you|some|many|others|people|students|often)\s(?:[a-z]{1,9}\s){0,2}(?:think|say|believe|assume|claim|argue)))"
    r"(?: (?!(?:so|but|thus|hence|therefore|then|because|since|as|and|while|hard|difficult|surprising|only) )"
    r"[A-Za-z'’]{1,20}){0,6} {1,3}[*$]{0,3}\Z"
)
_TAKEN_BACK = re.compile(
    rf"{WAIT}"
    r"(?=(?P<check>[,.!:…—–\s]{1,3}(?i:let\s(?:me|us)|let['’]s)\s(?:just\s)?(?:double|re-?)?[-\s]?(?:check|verify|confirm))"
    rf"|{AFTER_WAIT})"
    r"|\b(?i:scratch\sthat|on\ssecond\sthoughts?|(?:I|we)(?:['’]ve|\shave)?\smade\san?\s(?:mistake|error))\b"
    r"|(?<=[.!])\s{1,3}No[,:.]\s|(?<![A-Za-z])[A-D][*$)}]{0,4}[.!]\s{1,3}(?:That|This|It)(?:['’]s|\sis|\swas)"
    r"\s(?:wrong|incorrect|not\s(?:right|correct))(?=[.,;!]|\s{0,9}\Z)"
)
_WRONG = re.compile(r"\b(?:wrong|incorrect|mistaken?|error|not)\b", re.I)
_SEVERAL = re.compile(r"[*$)]{0,4}\s{0,3}(?:,|/|or|and|&)\s{0,3}(?:option\s)?[*$(]{0,4}[A-D](?![A-Za-z])")
_WHOLE = 200  # characters of the longest text that may be one option and nothing else
_LINE = re.compile(r"[\s*$]{0,6}\(?([A-D])[).]{0,2}[\s*$]{0,6}")
_ARTICLE = re.compile(r"[\s*$]*a\s+(?!or\b|and\b)[a-z]{2}")
_SMALL = re.compile(r"[\s*$]*[a-d](?![)A-Za-z]|[\s*$]*\Z)")
_AT_END = 100  # characters of the longest option at the end of a text, in bold or after "####"
_DENYING = re.compile(
    r"(?<![A-Za-z])(?:not|wrong|false|incorrect|eliminated?|if|rules?)(?![A-Za-z])|n['’]t(?![A-Za-z])", re.I
)
_LETTER_IN_FONT = re.compile(rf"\\(?:{FONTS})\s*\{{\s*([A-Z])\s*\}}(?=[\s~]|\\[ ,;:])")
_DRESS = re.compile(rf"\\(?:{FONTS}|left|right|quad|qquad)(?![A-Za-z])|\\[\s,;:!()\[\]]|[\s~$*{{}}\"“”'‘’]")
_SPACES = re.compile(r" +")
_LEAD = re.compile(
    r"\A(?:(?:the|my|final|correct|right|best) )*(?:answer|option|choice)(?: is)?(?: ?:)? ?(?:option |choice )?"
    r"(?=\(?[A-Z]\b)",
    re.IGNORECASE,
)
_PRAISE = re.compile(r" is (?:the )?(?:correct|right|best)(?: (?:answer|option|choice))?\.?$")
_ALONE = re.compile(r"[(\[. ]*([A-Za-z])[)\]. :]*")
_WITH_TEXT = re.compile(
    r"(?:\(([A-Za-z])\)[.:]?|([A-Z])[).:]"
    r"|([A-Z])(?:,(?= (?:an?|the|with|which) )|(?= \((?![A-Z]\))(?:[A-Za-z]{2}|[0-9])))"
    r"|([A-Z]) ?[—–-](?= ?[A-Za-z]{3}))(?: |(?=[0-9\\-])|(?<=[—–]))(.+)"
)
_OF_SEVERAL = re.compile(
    r"(?:or|and|nor|not|is|are|was|isn t|(?:in)?correct|wrong|(?:false|eliminated|ruled out|excluded)\.?$|vs"
    r"|can(?: ?not|  ?t) be (?:right|correct|true|it|the answer)|can be (?:ruled out|eliminated|excluded)"
    r"|does(?: not|n t) (?:hold|work|fit|apply|match))(?![A-Za-z])|[,;/&+=<>|]|\\cup"
)
_ANOTHER = re.compile(
    r"\(([A-Z])\)|(?<![A-Za-z])(?:or|and|nor|not) (?:option |choice )?([A-Z])(?![A-Za-z]| ?[=:])|^([A-Z])[.)]*$"
)
_OF_OPTIONS = re.compile(r"(?:both|neither|either|all|none|only)(?![A-Za-z])", re.IGNORECASE)


def grade_choice(text: str, gold: str) -> Verdict:
    """Grade the letter that a text gives; the verdict's `extracted` is this letter in upper case. Linear time."""
    box = last_box(text)
    said = text[text.rfind(box.markup) + len(box.markup) :] if box else text
    taken_back = list(_TAKEN_BACK.finditer(said))
    last = taken_back[-1].end() if taken_back else 0
    letter = _declared(said[last:])
    if letter is None and taken_back and not _WRONG.search(said, last):  # nothing came of a check
        taken_back = [place for place in taken_back if not place["check"]]
        last = taken_back[-1].end() if taken_back else 0
        letter = _declared(said[last:])
    said = said[last:]
    if box and (letter is None or not taken_back):
        letter = _letter(box.answer) or letter
    elif letter is None:
        letter = _of_lines(said.strip())
    if letter not in LETTERS:
        return Verdict("no_answer")
    return Verdict("correct" if letter == gold else "wrong", letter)


def _letter(answer: str) -> str | None:
    named = option(answer)
    return named[0] if named and named[0] in LETTERS else None


def _declared(text: str) -> str | None:
    """The letter of the last declaration about letters: "" if it names several or denies one; None without one."""
    declared = [(place, said.partition("!")[0]) for place, said in declarations(text, _DECLARED)]
    found = [
        (place, "" if _SMALL.match(said) else _letter(said) or _unsure(said))
        for place, said in declared
        if not _ARTICLE.match(said)
    ]
    for chosen in _CHOSEN.finditer(text):
        letter = next(filter(None, chosen.groups()))
        if not _NOT_CHOSEN.search(text, max(0, chosen.start() - _BEFORE), chosen.start()):
            found.append((chosen.start(), "" if _SEVERAL.match(text, chosen.end()) else letter))
    return max(((place, letter) for place, letter in found if letter is not None), default=(0, None))[1]


def _unsure(said: str) -> str | None:
    """ "" if a declaration from which no letter was read is about letters; None if it is about something else."""
    return "" if not said or re.match(r"[*$(]{0,4}[A-D][*$)]{0,4}(?:\s|,|/)", said) else None


def _of_lines(text: str) -> str | None:
    """The letter of a text without a declaration, from its end, its only, first or last line; see rule 4."""
    for pattern in (MARKED_AT_END, BOLD_AT_END):
        ending = pattern.search(text)
        if ending and len(ending[1]) <= _AT_END and not _DENYING.search(ending[1]) and (letter := _letter(ending[1])):
            return letter
    lines = text.split("\n")
    if len(lines) == 1:
        return _letter(text) if len(text) <= _WHOLE else None
    lone_letters = [found[1] if (found := _LINE.fullmatch(line)) else None for line in lines]
    letters = set(filter(None, lone_letters))
    at_end = lone_letters[0] or (lone_letters[-1] and not lines[-2].rstrip().endswith(":"))
    if at_end and len(letters) == 1:
        return letters.pop()
    options = [_letter(line) if len(line) <= _WHOLE else None for line in lines]
    first = options[0] and options.count(None) == len(options) - 1 and not _DENYING.search(lines[0])
    return options[0] if first else None


def option(answer: str) -> tuple[str, str] | None:
    """The capital letter that an answer names and the text after it ("" for a letter alone), or None. Linear time.

    It is also None if the answer names several letters or denies one, and for a letter in a formula or an article. The
    text after a letter may mention other options ("D. Both A and B").
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
