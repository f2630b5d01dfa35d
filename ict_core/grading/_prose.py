r"""The answer of a text that has no box: the one that it declares, or the one that its last sentence gives.

The rule, in this order; a text to which none of it applies has no answer:

1. The last declaration: "answer is X", "Answer: X", ``{"answer": "X"}``, "**Final Answer**" and X on the next line; or
   a last line "#### X". X ends with its sentence or line, or before "because", "since", "which", ", not" and the like.
   In "not Y but X", X counts. "If the answer is X", "the answer is not X", "either X" and "the answer is X?" declare
   nothing, nor do "my first answer" and what a later "Wait, no" or "that is wrong" takes back. "minus 5" is -5.
2. Bold text at the end of the text: after "is" or a similar word; or, if it has a digit in it, on a line of its own
   that is no heading ("Step 3") or in a sentence that begins with "so" or "therefore".
3. The last sentence, if it ends in mathematics between dollar signs, ``\(`` or ``\[``: after "is", "are", "equals" or a
   similar word ("the largest value of $a$ is $2$."), or after a first word such as "so" or "therefore" if the sentence
   has no other mathematics. It may also end in a number or a bound (``x > 8``): after "is" or "=" if it has such a
   first word, else only before a full stop, after "is" or after a calculation that follows it ("is 21 + 49 = 70"). Of
   "x = 1 or x = 2" both count. A unit may follow. A sentence that denies, doubts, assumes or bounds ("not", "if", "at
   least") gives nothing.
4. The whole text, if it is short and nothing but mathematics.
"""

import re
from collections import deque
from collections.abc import Iterator

from ict_core.grading.boxes import last_box, last_match, stripped

_LONGEST = 200  # characters of an answer
_MOST = 20  # declarations of a text that are examined, from its end
_END_OF_TEXT = 600  # characters in which the last sentence is searched for
_SPAN = re.compile(r"\$\$([^$]{1,200})\$\$|\$([^$\n]{1,200})\$|\\\(([^\n]{1,200}?)\\\)|\\\[(.{1,200}?)\\\]", re.DOTALL)
_STOP = re.compile(
    rf"(?P<span>{_SPAN.pattern})|(?P<end>\n|[.?](?=[*_\s)\"'”]|$))"
    r"|(?P<cause>,?\s(?:because|since|as|so|which|where|when|by|due|given|for|after|from|rather\sthan"
    r"|instead\sof)(?![A-Za-z])|,\s(?:and\s)?(?:not|i\.e)(?![A-Za-z])|\sand\snot\s(?=[*$(]{0,4}[A-D0-9](?![A-Za-z]))|;"
    r"|\s\((?=(?:not|because|since|as|i\.e|the|which|and)(?![A-Za-z]))|</|\"\s{0,9}[,}])",
    re.DOTALL,
)
_ADVERB = re.compile(
    r"\A(?:(?:therefore|thus|hence|then|simply|just|exactly|clearly|indeed|actually|probably|certainly|definitely"
    r"|(?:most )?likely|equal to|given by)[,:]?\s+){1,3}",
    re.I,
)
_NEGATIVE = re.compile(r"\A(?:minus|negative)\s+(?=[0-9.\\$])", re.I)
DENIED = re.compile(
    r"(?:not|no|never|neither|either|between|about|around|approximately|roughly|at (?:least|most)|unknown"
    r"|(?:more|less|greater|fewer|smaller|larger|bigger) than)(?![A-Za-z])",
    re.IGNORECASE,
)
WAIT = r"(?:\bWait|(?:[,.!…—–]\s{1,2}|\b(?i:no|but|oh|hmm)\s)wait)"  # that takes back what stands before it
AFTER_WAIT = r"[,.!:…]|\s?[—–]|\s(?:no|but|that|this|I|let|actually|a\s(?:minute|moment|second))\b"
TAKEN_BACK = re.compile(
    rf"{WAIT}(?={AFTER_WAIT})|\b(?i:scratch that|on second thoughts?"
    r"|(?:that|this|it)(?:'s| is| was) (?:wrong|incorrect|not right|not correct)|made an? (?:mistake|error))\b"
)
DOUBTED = re.compile(
    r"(?<![A-Za-z])(?:not|no|never|neither|nor|cannot|if|unless|suppose|assum\w{1,5}|whether|let|maybe|perhaps|might|may"
    r"|could|would|either|where|except|check|suffices?|consider|cases?|when|between|about|approximately|roughly"
    r"|contradict\w{0,5}|wrong|try|incorrect|impossible|multiples?|at (?:least|most)"
    r"|(?:more|less|greater|fewer|smaller|larger) than|divided|multiplied|times)(?![A-Za-z])|n['’]t(?![A-Za-z])",
    re.IGNORECASE,
)
_CONCLUDING = re.compile(
    r"[*_\s]*(?:so|thus|hence|therefore|finally|in conclusion|in total|consequently|we conclude)(?![A-Za-z])",
    re.IGNORECASE,
)
_IS = (
    r"(?:is|are|equals|measures|equal to|be|becomes|get|obtain|have|gives|yields|find"
    r"|has (?:length|area|volume|value))"
)
_LEADS_ON = re.compile(
    r"(?<![A-Za-z])(?:for|of|with|at|in|by|from|on|to|over|per|and|plus|minus|first|other|next|last|these|all)\s*$",
    re.I,
)
_LAST_IS = re.compile(rf"(?<![A-Za-z]){_IS}:?\s+(?:simply |just |exactly |therefore |thus )?(?=[^A-Za-z]|$)")
_NUMBER = re.compile(r"(?:\\?\$)?[-−]?(?=[0-9√π])(?:[0-9][0-9,]*(?:\.[0-9]+)?)?(?:√[0-9]{1,9})?π?(?:/[0-9]+)?\\?%?")
_BOUND = rf"[a-z] ?[<>≤≥]=? ?{_NUMBER.pattern}"
_AFTER_IS = re.compile(
    rf"(?<![A-Za-z])(?P<several>[A-Za-z] ?= ?{_NUMBER.pattern}"
    rf"(?:(?:,|,? or|,? and) (?:[A-Za-z] ?= ?)?{_NUMBER.pattern}){{1,9}})"
    r"|(?P<worked>(?<![A-Za-z])(?:is|are)\s[0-9+*/×·(). −-]{1,60})?"
    rf"(?P<by>=|(?<![A-Za-z]){_IS})\s*(?P<value>{_BOUND}(?: or {_BOUND})?|{_NUMBER.pattern})"
)
BOLD_AT_END = re.compile(r"\*\*([^*\n]{1,100}?)\*\*[.\s]{0,10}\Z")
_HEADING = re.compile(r"(?:step|case|part|example|problem|question|method|note|solution|answer)(?![A-Za-z])", re.I)
_JOINED = re.compile(r"[\s*_,]*(?:(?:and|or)\s*)?")
_UNIT = re.compile(r"[\s*_]*(?:(?!cases?|steps?|terms?|or|and)[A-Za-z²³^]{1,15}\s?){0,4}[*_\s]*")
_SENTENCE_END = re.compile(r"(?:[.!?][*_\"”)]{0,3}(?=\s)|\n\s*\n)\s*")
MARKED_AT_END = re.compile(r"(?:^|\n)#### ?([^\n]{1,200})\s{0,20}\Z")
_VALUE = re.compile(
    r"(?:[A-Za-z] ?= ?)?"
    r"(?:[^A-Za-z=\\{]|\\(?!boxed)[A-Za-z]+|(?<=[A-Za-z^_}\]])\{|\\[{}]|(?<![A-Za-z])[A-Za-z](?![A-Za-z])){1,80}"
)


def declarations(text: str, noun: str) -> Iterator[tuple[int, str]]:
    """The position of each of a text's last declarations, and what it declares ("" if it denies). Linear time.

    Args:
        text: the text.
        noun: a regular expression for the noun of a declaration, such as ``answers?``.
    """
    declared = re.compile(
        r"(?<![A-Za-z])(?P<supposed>(?:if|whether|unless|suppose|supposing|assume|assuming|wrong|incorrect|another|worst"
        r"|first|initial|previous|(?:least|less)(?:\s[a-z]{1,12})?)\s{1,3}(?:that\s{1,3})?)?"
        rf"(?:the\s{{1,3}})?(?:{noun})(?![A-Za-z])(?:\s(?:to|of|for|in|among)\s[^.:\n]{{0,80}}?)?"
        r"(?:[*_\s\"']{0,4}[:=>]|\s{1,3}(?:is|are|was|equals|(?:would|should|must|will|has to) be)(?![A-Za-z'’])"
        r"|[*_#\s]{0,4}(?=\n))[\s*_:>\"]{0,20}(?:not\s[^.\n]{1,60}?\sbut\s(?:rather\s)?)?",
        re.IGNORECASE,
    )
    for found in deque((found for found in declared.finditer(text) if not found["supposed"]), maxlen=_MOST):
        content = _content(text[found.end() : found.end() + 2 * _LONGEST])
        if content:
            yield found.start(), "" if DENIED.match(content) else content


def _content(rest: str) -> str:
    """The rest of a text up to the end of its sentence, line or clause, without dollar signs; "" for a question."""
    end = len(rest)
    for stop in _STOP.finditer(rest):
        if stop["span"] is None:
            end = stop.start()
            if stop[0] == "?":
                return ""
            break
    content = _NEGATIVE.sub("-", _ADVERB.sub("", _plain(rest[:end])))
    return content if len(content) <= _LONGEST else ""


def _plain(text: str) -> str:
    """A piece of prose without the delimiters of mathematics and without asterisks."""
    inside = _SPAN.sub(lambda span: next(filter(None, span.groups())), text)
    return stripped(stripped(inside.replace("**", "")).strip(" \n\t*_`:").removesuffix("."))


def _last_sentence(text: str) -> str:
    """The answer that the last sentence gives, or "" if it gives none; see rule 3."""
    text = text[-_END_OF_TEXT:].rstrip("*_ \n\t")
    ended = text.removesuffix(".")
    sentence = ended[_last_begin(_SPAN.sub(lambda span: "$" * len(span[0]), ended)) :]
    spans = list(_SPAN.finditer(sentence))
    concluding = _CONCLUDING.match(sentence) is not None
    if not spans:
        number = last_match(_AFTER_IS, sentence)
        by_sign = number and (number["several"] or (number["by"] == "=" and not number["worked"]))
        if not number or DOUBTED.search(sentence) or not _UNIT.fullmatch(sentence, number.end()):
            return ""
        return (number["several"] or number["value"]) if concluding or (ended != text and not by_sign) else ""
    first = len(spans) - 1
    while first and _JOINED.fullmatch(sentence, spans[first - 1].end(), spans[first].start()):
        first -= 1
    before, after = sentence[: spans[first].start()].rstrip("*_ \n:") + " ", sentence[spans[-1].end() :]
    if DOUBTED.search(_SPAN.sub(" ", before)) or not _UNIT.fullmatch(after):
        return ""
    same_left_side = len({_plain(span[0]).rpartition("=")[0] for span in spans}) == 1
    if _ends_in_is(before) or (concluding and first == 0 and same_left_side and not _LEADS_ON.search(before)):
        return _plain(sentence[spans[first].start() :])
    return ""


def answer_in_prose(text: str, sentences: bool = True) -> str:
    """The answer of a text without a box, or ""; only a declared answer unless ``sentences``. Linear time."""
    found = next(iter(deque(declarations(text, "(?:final )?ans(?:wers?)?"), maxlen=1)), None)
    if (marked := MARKED_AT_END.search(text)) and sentences:
        answer = _plain(marked[1])
    elif found is not None and not TAKEN_BACK.search(text, found[0]):
        answer = found[1]
    else:
        answer = (_bold_at_end(text) or _last_sentence(text) or _whole(text)) if sentences else ""
    box = last_box(f"\\boxed{{{answer}}}")
    return answer if box and box.answer == answer and len(answer) <= _LONGEST else ""


def _bold_at_end(text: str) -> str:
    """The bold text at the end of a text, if rule 2 takes it for the answer; else ""."""
    text = text[-_END_OF_TEXT:]
    bold = BOLD_AT_END.search(text)
    if bold is None:
        return ""
    line = text[text.rfind("\n", 0, bold.start()) + 1 : bold.start()]
    before = line[_last_begin(line) :]
    inner = _plain(bold[1])
    if DOUBTED.search(before) or DENIED.match(inner) or DOUBTED.search(inner):
        return ""
    if _ends_in_is(before):
        return inner
    apart = not before.strip() or (_CONCLUDING.match(before) and "**" not in before)
    return inner.rpartition(" is ")[2] if apart and any(map(str.isdigit, inner)) and not _HEADING.match(inner) else ""


def _ends_in_is(before: str) -> bool:
    return any(match.end() == len(before) for match in _LAST_IS.finditer(before))


def _last_begin(text: str) -> int:
    """Where the last sentence of a text begins."""
    begin = last_match(_SENTENCE_END, text)
    return begin.end() if begin else 0


def _whole(text: str) -> str:
    """The whole text if it is nothing but mathematics, else ""."""
    text = text.strip().strip("*_ ").removesuffix(".")
    if len(text) > _LONGEST:
        return ""
    if span := _SPAN.fullmatch(text):
        return stripped(next(filter(None, span.groups())))
    return text if any(c.isascii() and c.isalnum() for c in text) and _VALUE.fullmatch(text) else ""
