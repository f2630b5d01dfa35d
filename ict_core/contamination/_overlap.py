"""Which questions share words or shingles with other questions, in the normal forms in which they are compared."""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

NGRAM = 13
"""Words of an n-gram (Brown et al. 2020, arXiv:2005.14165, appendix C)."""

SHORTEST = 8
"""Words that a question must have for its n-gram to be looked for; GPT-3's authors let n be no smaller than this, as
shorter ones collide by chance."""

COMMON = 10
"""An n-gram that stands in more training questions than this is boilerplate and counts for nothing (as there)."""

SHINGLE = 5
"""Characters of a shingle."""

SIMILAR = 0.8
"""The Jaccard similarity from which two questions are near-duplicates (the bound of Lee et al. 2022,
arXiv:2107.06499)."""

_TOKEN = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+|[^\w\s]")  # a number, a word, or a sign
_PUNCTUATION = frozenset(".,;:!?'\"`$\\‘’“”")


def tokens(text: str) -> tuple[str, ...]:
    """The numbers, words and signs of a text, in lower case and without punctuation.

    Signs that carry mathematics stay (``x + 1`` is not ``x - 1``); what is dropped is whitespace, the underscore,
    ``.,;:!?``, quotes, dollar signs and backslashes. Unicode is in its compatibility form (NFKC).
    """
    pieces = _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
    return tuple(piece for piece in pieces if piece not in _PUNCTUATION)


def words(text: str) -> tuple[str, ...]:
    """The numbers and words of a text: its :func:`tokens` without the signs, as GPT-3's authors count n-grams."""
    return tuple(token for token in tokens(text) if token[0].isalnum())


def but_for_numbers(text: str) -> tuple[str, ...]:
    """The :func:`tokens` of a text with every number replaced by 0."""
    return tuple("0" if token[0].isdigit() else token for token in tokens(text))


def _ngrams(sequence: Sequence[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(sequence[start : start + size]) for start in range(len(sequence) - size + 1)}


def overlapping(questions: Sequence[str], training: Iterable[str]) -> list[bool | None]:
    """Whether each question shares an n-gram of :data:`NGRAM` words with a training question.

    A question of fewer words is one n-gram, the whole of it; with fewer than :data:`SHORTEST` it is not looked for
    (None). An n-gram in more than :data:`COMMON` training questions does not count.
    """
    long_enough = [question if len(question) >= SHORTEST else None for question in map(words, questions)]
    grams = [None if question is None else _ngrams(question, min(NGRAM, len(question))) for question in long_enough]
    wanted = set().union(*filter(None, grams))
    sizes = {len(gram) for gram in wanted}
    times: Counter[tuple[str, ...]] = Counter()
    for question in map(words, training):
        times.update(gram for size in sizes for gram in _ngrams(question, size) if gram in wanted)
    return [None if own is None else any(0 < times[gram] <= COMMON for gram in own) for own in grams]


def shingles(question: str) -> frozenset[str]:
    """All stretches of :data:`SHINGLE` characters of the normalised question; a shorter one is a shingle itself."""
    text = " ".join(tokens(question))
    return frozenset(text[start : start + SHINGLE] for start in range(max(1, len(text) - SHINGLE + 1)))


def similar_pairs(
    left: Sequence[frozenset[str]], right: Sequence[frozenset[str]], bound: float
) -> list[tuple[int, int, float]]:
    """Every pair of sets with a Jaccard similarity of at least `bound`, exactly, without comparing all pairs.

    Sets as similar as that share one of their rarest ``n - ceil(bound * n) + 1`` elements (prefix filtering: Chaudhuri,
    Ganti and Kaushik 2006; Bayardo, Ma and Srikant 2007), so only pairs that do are compared.

    Args:
        left, right: sets, none of them empty.
        bound: above 0, at most 1.

    Returns:
        (index in `left`, index in `right`, similarity), in order of the indices.
    """
    frequency = Counter(element for one in (*left, *right) for element in one)

    def rarest(one: frozenset[str]) -> list[str]:
        count = len(one) - math.ceil(bound * len(one) - 1e-9) + 1
        return sorted(one, key=lambda element: (frequency[element], element))[:count]

    holders: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(right):
        for element in rarest(one):
            holders[element].append(index)
    pairs = []
    for here, one in enumerate(left):
        for there in sorted({index for element in rarest(one) for index in holders.get(element, ())}):
            shared = len(one & right[there])
            similarity = shared / (len(one) + len(right[there]) - shared)
            if similarity >= bound:
                pairs.append((here, there, similarity))
    return pairs
