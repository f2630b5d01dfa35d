"""The normal forms in which questions are compared."""

import re
import unicodedata

_TOKEN = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+|[^\w\s]")  # a number, a word, or a sign
_PUNCTUATION = frozenset(".,;:!?'\"`$\\‘’“”")


def tokens(text: str) -> tuple[str, ...]:
    """The numbers, words and signs of a text, in lower case and without punctuation.

    Signs that carry mathematics stay (``x + 1`` is not ``x - 1``); what is dropped is whitespace, the underscore,
    ``.,;:!?``, quotes, dollar signs and backslashes. Unicode is in its compatibility form (NFKC).
    """
    found = _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
    return tuple(token for token in found if token not in _PUNCTUATION)


def words(text: str) -> tuple[str, ...]:
    """The numbers and words of a text: its :func:`tokens` without the signs, as GPT-3's authors count n-grams."""
    return tuple(token for token in tokens(text) if token[0].isalnum())


def but_for_numbers(text: str) -> tuple[str, ...]:
    """The :func:`tokens` of a text with every number replaced by 0."""
    return tuple("0" if token[0].isdigit() else token for token in tokens(text))
