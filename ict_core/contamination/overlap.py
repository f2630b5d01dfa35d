"""Which questions share words or shingles with other questions: exact searches through inverted indices."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from ict_core.contamination.text import tokens, words

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


def _ngrams(found: Sequence[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(found[start : start + size]) for start in range(len(found) - size + 1)}


def overlapping(questions: Sequence[str], training: Iterable[str]) -> list[bool | None]:
    """Whether each question shares an n-gram of :data:`NGRAM` words with a training question.

    A question of fewer words is one n-gram, the whole of it; with fewer than :data:`SHORTEST` it is not looked for
    (None). An n-gram in more than :data:`COMMON` training questions does not count.
    """
    grams = []
    for question in questions:
        found = words(question)
        grams.append(_ngrams(found, min(NGRAM, len(found))) if len(found) >= SHORTEST else None)
    wanted = {gram for of_question in grams for gram in of_question or ()}
    sizes = {len(gram) for gram in wanted}
    seen: Counter[tuple[str, ...]] = Counter()
    for question in training:
        found = words(question)
        seen.update(gram for size in sizes for gram in _ngrams(found, size) if gram in wanted)
    return [None if of is None else any(0 < seen[gram] <= COMMON for gram in of) for of in grams]


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
