"""The overlap of every evaluation set with the training data: counts by benchmark, and the near-duplicates by id.

It warns and removes nothing. What it says of a question says nothing of what the base model saw before: see
`completion_probe.py`.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from ict_core.contamination._overlap import SIMILAR, but_for_numbers, overlapping, shingles, similar_pairs, tokens
from ict_core.grading import LETTERS, GradingPool, Verdict, grade_answer
from ict_core.store import records

_SAME = {"correct": "yes", "wrong": "no"}


class Asked(NamedTuple):
    """A problem as the audit sees it."""

    benchmark: str  # the evaluation or training set
    problem: str  # its id there
    question: str  # without options and without the instruction that all prompts share
    options: tuple[str, ...]  # of a multiple choice, in the order of their letters; else none
    answer: str  # the gold answer; of a problem with options the right option's text


def asked(problems: pd.DataFrame) -> list[Asked]:
    """The problems of a frame of ``records.PROBLEMS``, in its order."""
    rows = []
    columns = (problems[name] for name in ("benchmark", "problem", "question", "options", "answer"))
    for benchmark, problem, question, written, answer in zip(*columns, strict=True):
        options = tuple(json.loads(written))
        meant = options[LETTERS.index(answer)] if options else answer
        rows.append(Asked(benchmark, problem, question, options, meant))
    return rows


def audit(
    training: pd.DataFrame, held_out: pd.DataFrame, grading: Mapping[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare every evaluation problem with every training problem.

    Args:
        training, held_out: frames of ``records.PROBLEMS``.
        grading: `seconds` and `memory_mib` of one answer.

    Returns:
        Counts of problems, a frame of ``records.CONTAMINATION``, one row a benchmark in the order of `held_out`:
        `problems`; `training` (problems, of all training sets); `repeated`, whose question and options stand before
        in the same benchmark; `exact`, whose normalised question is a training question's; `ngram` and `short` (see
        :func:`overlap.overlapping`); `similar`, with a near-duplicate, and `same_answer`, with one that has the same
        answer too; `but_for_numbers`, whose question is a training question's once all numbers are 0.

        Near-duplicates, a frame of ``records.NEAR_DUPLICATES``, the most similar of a benchmark first: pairs whose
        :func:`overlap.shingles` have a Jaccard similarity of at least ``overlap.SIMILAR``, hence all exact matches
        too. `same_answer` is the verdict of the grader of mathematical answers: yes, no, or unknown.
    """
    ours, theirs = asked(held_out), asked(training)
    near = _near_duplicates(ours, theirs, grading)
    questions = [one.question for one in theirs]
    exact = {tokens(question) for question in questions}
    wording = {but_for_numbers(question) for question in questions}
    shared = overlapping([one.question for one in ours], questions)
    whole = pd.Series([(one.benchmark, tokens(one.question), *map(tokens, one.options)) for one in ours])
    flags = pd.DataFrame(
        {
            "benchmark": [one.benchmark for one in ours],
            "problem": [one.problem for one in ours],
            "problems": True,
            "repeated": whole.duplicated(),
            "exact": [tokens(one.question) in exact for one in ours],
            "ngram": [shares is True for shares in shared],
            "short": [shares is None for shares in shared],
            "but_for_numbers": [but_for_numbers(one.question) in wording for one in ours],
        }
    )
    keys = pd.MultiIndex.from_frame(flags[["benchmark", "problem"]])
    for column, pairs in (("similar", near), ("same_answer", near[near["same_answer"] == "yes"])):
        flags[column] = keys.isin(pd.MultiIndex.from_frame(pairs[["benchmark", "problem"]]))
    counts = flags.drop(columns="problem").groupby("benchmark", sort=False).sum().reset_index()
    return counts.assign(training=len(theirs))[list(records.CONTAMINATION)], near


def grade_unlogged(text: str, gold: str, answer_type: str) -> Verdict:
    """Grade in a worker that logs nothing: a log may not show the options of gated sets."""
    logging.disable()
    return grade_answer(text, gold, answer_type)


def _near_duplicates(ours: Sequence[Asked], theirs: Sequence[Asked], grading: Mapping[str, Any]) -> pd.DataFrame:
    held_out, training = ([shingles(one.question) for one in problems] for problems in (ours, theirs))
    similar = similar_pairs(held_out, training, SIMILAR)
    pairs = [(ours[here], theirs[there], similarity) for here, there, similarity in similar]
    answers = [(f"\\boxed{{{theirs.answer}}}", ours.answer, "latex") for ours, theirs, _ in pairs]
    with GradingPool(workers=1, grade=grade_unlogged, **grading) as pool:
        verdicts = pool.grade(answers)
    rows = [
        (one.benchmark, one.problem, other.benchmark, other.problem, similarity, _SAME.get(verdict.status, "unknown"))
        for (one, other, similarity), verdict in zip(pairs, verdicts, strict=True)
    ]
    near = pd.DataFrame(rows, columns=list(records.NEAR_DUPLICATES))
    order = {name: place for place, name in enumerate(dict.fromkeys(one.benchmark for one in ours))}
    ranks = near.assign(order=near["benchmark"].map(order))
    keys = ["order", "similarity", "problem", "training_set", "training_problem"]
    return near.loc[ranks.sort_values(keys, ascending=[True, False, True, True, True]).index].reset_index(drop=True)
