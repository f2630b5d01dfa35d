"""The overlap of every evaluation set with the training data: which questions share words or shingles, and the counts.

It warns and removes nothing. Its results say nothing about what the base model saw before.
"""

import json
import logging
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from ict_core.grading.answers import grade_answer
from ict_core.grading.boxes import Verdict
from ict_core.grading.gold import LETTERS
from ict_core.grading.pool import GradingPool
from ict_core.store import records

# Words of an n-gram; the fewest words of a question for its n-gram to be searched for, as shorter ones match by chance;
# the most training questions with an n-gram, as one in more of them is boilerplate. These are the values of GPT-3's
# authors (Brown et al. 2020, arXiv:2005.14165, appendix C).
NGRAM, SHORTEST, COMMON = 13, 8, 10
SHINGLE = 5  # characters of a shingle
SIMILAR = 0.8  # the Jaccard similarity from which two questions are near-duplicates (Lee et al. 2022, arXiv:2107.06499)

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


def overlapping(questions: Iterable[str], training: Iterable[str]) -> list[bool | None]:
    """Whether each question shares an n-gram of :data:`NGRAM` words with a training question.

    A shorter question is a single n-gram; with fewer than :data:`SHORTEST` words it is not searched for (None). An
    n-gram in more than :data:`COMMON` training questions does not count.
    """
    grams = [_ngrams(q, min(NGRAM, len(q))) if len(q) >= SHORTEST else None for q in map(words, questions)]
    wanted_grams = set().union(*filter(None, grams))
    sizes = {len(gram) for gram in wanted_grams}
    times: Counter[tuple[str, ...]] = Counter()
    for question in map(words, training):
        times.update(gram for size in sizes for gram in _ngrams(question, size) if gram in wanted_grams)
    return [
        None if question_grams is None else any(0 < times[gram] <= COMMON for gram in question_grams)
        for question_grams in grams
    ]


def shingles(question: str) -> frozenset[str]:
    """All substrings of :data:`SHINGLE` characters of the normalised question; a shorter question is one shingle."""
    text = " ".join(tokens(question))
    return frozenset(text[start : start + SHINGLE] for start in range(max(1, len(text) - SHINGLE + 1)))


def similar_pairs(
    left: Sequence[frozenset[str]], right: Sequence[frozenset[str]], bound: float
) -> list[tuple[int, int, float]]:
    """Every pair of sets with a Jaccard similarity of at least `bound`, exactly, without comparing all pairs.

    Sets that similar share one of their rarest ``n - ceil(bound * n) + 1`` elements (prefix filtering: Chaudhuri, Ganti
    and Kaushik 2006; Bayardo, Ma and Srikant 2007), so only pairs that do are compared. No set is empty, and the bound
    is above 0 and at most 1. A pair is its two indices and its similarity; the pairs are in order of their indices.
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
    for i, one in enumerate(left):
        for j in sorted({index for element in rarest(one) for index in holders.get(element, ())}):
            shared = len(one & right[j])
            similarity = shared / (len(one) + len(right[j]) - shared)
            if similarity >= bound:
                pairs.append((i, j, similarity))
    return pairs


_SAME = {"correct": "yes", "wrong": "no"}


def asked(problems: pd.DataFrame) -> pd.DataFrame:
    """A frame of ``records.PROBLEMS`` with lists of options; the `answer` of a choice is the right option's text."""
    options = problems["options"].map(json.loads)
    pairs = zip(options, problems["answer"], strict=True)
    return problems.assign(options=options, answer=[texts[LETTERS.index(a)] if texts else a for texts, a in pairs])


def audit(
    training: pd.DataFrame, held_out: pd.DataFrame, grading: Mapping[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare the held-out with the training problems; `grading` has the limits `seconds` and `memory_mib` per answer.

    Returns:
        Counts of problems, a frame of ``records.CONTAMINATION``, one row per benchmark in the order of `held_out`:
        `problems`; `training` (problems of all training sets); `repeated`, whose question and options occur earlier in
        the same benchmark; `exact`, whose normalised question is a training question's; `ngram` and `short` (see
        :func:`overlapping`); `similar`, with a near-duplicate; `same_answer`, with a near-duplicate that also has the
        same answer; `but_for_numbers`, whose question is a training question's once all numbers are 0.

        Near-duplicates, a frame of ``records.NEAR_DUPLICATES``, the most similar of a benchmark first: pairs whose
        :func:`shingles` have a Jaccard similarity of at least :data:`SIMILAR`, hence all exact matches too.
        `same_answer` is the verdict of the grader of mathematical answers: yes, no, or unknown.
    """
    evaluation = asked(held_out)
    near = _near_duplicates(evaluation, asked(training), grading)
    exact, wording = (set(training["question"].map(form)) for form in (tokens, but_for_numbers))
    shared = overlapping(evaluation["question"], training["question"])
    columns = (evaluation[name] for name in ("benchmark", "question", "options"))
    texts = [(name, tokens(question), *map(tokens, options)) for name, question, options in zip(*columns, strict=True)]
    flags = evaluation[["benchmark", "problem"]].assign(
        problems=True,
        repeated=pd.Series(texts).duplicated().tolist(),
        exact=[tokens(question) in exact for question in evaluation["question"]],
        ngram=[shares is True for shares in shared],
        short=[shares is None for shares in shared],
        but_for_numbers=[but_for_numbers(question) in wording for question in evaluation["question"]],
    )
    keys = pd.MultiIndex.from_frame(flags[["benchmark", "problem"]])
    for column, pairs in (("similar", near), ("same_answer", near[near["same_answer"] == "yes"])):
        flags[column] = keys.isin(pd.MultiIndex.from_frame(pairs[["benchmark", "problem"]]))
    counts = flags.drop(columns="problem").groupby("benchmark", sort=False).sum().reset_index()
    return counts.assign(training=len(training))[list(records.CONTAMINATION)], near


def grade_unlogged(text: str, gold: str, answer_type: str) -> Verdict:
    """Grade in a worker that logs nothing: a log may not show the options of gated sets."""
    logging.disable()
    return grade_answer(text, gold, answer_type)


def _near_duplicates(held_out: pd.DataFrame, training: pd.DataFrame, grading: Mapping[str, Any]) -> pd.DataFrame:
    similar = similar_pairs([*held_out["question"].map(shingles)], [*training["question"].map(shingles)], SIMILAR)
    ours, theirs = list(held_out.itertuples()), list(training.itertuples())
    answers = [(f"\\boxed{{{theirs[j].answer}}}", str(ours[i].answer), "latex") for i, j, _ in similar]
    with GradingPool(workers=1, grade=grade_unlogged, **grading) as pool:
        verdicts = pool.grade(answers)
    rows = [
        (ours[i].benchmark, ours[i].problem, theirs[j].benchmark, theirs[j].problem, similarity)
        + (_SAME.get(verdict.status, "unknown"),)
        for (i, j, similarity), verdict in zip(similar, verdicts, strict=True)
    ]
    order = list(dict.fromkeys(held_out["benchmark"]))
    rows.sort(key=lambda row: (order.index(row[0]), -row[4], row[1:4]))
    return pd.DataFrame(rows, columns=list(records.NEAR_DUPLICATES))
