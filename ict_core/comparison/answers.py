"""Answers of models to problems as counts of samples: the input of every comparison."""

import pandas as pd

from ict_core.errors import UserError, visible
from ict_core.statistics.schemas import AVERAGE

ANSWERS = ("model", "run", "benchmark", "problem", "cluster", "sampled", "n", "correct")
"""The columns. Of the `sampled` samples of a run on a problem `n` were graded, and `correct` of those are right.

Runs with the same number are a pair. Problems of one cluster (translations, a family) are not independent of one
another, also across benchmarks. A problem without others has a cluster of its own.
"""
NEEDED = ("model", "problem", "correct")
_PROBLEM = ["benchmark", "problem"]
_KEY = ["model", "run", *_PROBLEM]


def counted(answers: pd.DataFrame) -> pd.DataFrame:
    """A frame of `ANSWERS` from samples or counts: a row for each (model, run, benchmark, problem).

    Missing columns are filled in: one run, one benchmark, no clusters. The `correct` of a sample is 0 or 1, or missing
    if it was not graded.

    Raises:
        UserError: a needed column is missing, a value is not allowed, a run of a model lacks a problem that another
            run has, or a problem has no graded sample or several clusters.
    """
    if missing := [name for name in NEEDED if name not in answers]:
        raise UserError(f"answers: no column {', '.join(missing)}; allowed: {', '.join(ANSWERS)}")
    if answers.empty:
        raise UserError("answers: no rows; allowed: at least one of each model")
    filled = pd.DataFrame({"run": 0, "benchmark": "all", **answers})
    if "cluster" not in answers:
        filled = filled.assign(cluster=filled["benchmark"].astype(str) + "/" + filled["problem"].astype(str))
    empty = filled[[*_KEY, "cluster"]].isna()
    if empty.any(axis=None):
        place = int(empty.any(axis=1).to_numpy().argmax())
        raise UserError(f"answers: row {place} has no {', '.join(empty.columns[empty.iloc[place]])}")
    named = [] if pd.api.types.is_integer_dtype(filled["run"]) else ["run"]  # by names, such as times
    for name in ["model", *_PROBLEM, "cluster", *named]:
        filled[name] = filled[name].astype(str).map(visible)  # anybody's text, which reaches a terminal
    if (filled["benchmark"] == AVERAGE).any():
        raise UserError(
            f"answers: benchmark: {AVERAGE!r} is not allowed; allowed: a name but that of the mean over all"
        )
    counts = _of_counts(filled) if "n" in filled else _of_samples(filled)
    clusters = counts.drop_duplicates([*_PROBLEM, "cluster"])
    if (several := clusters.duplicated(_PROBLEM)).any():
        row = clusters[several].iloc[0]
        raise UserError(f"answers: problem {row['problem']} of {row['benchmark']} has several clusters; allowed: one")
    _check_complete(counts)
    if (ungraded := counts["n"] < 1).any():
        raise UserError(f"answers: {_name(counts[ungraded].iloc[0])}: no sample was graded; allowed: at least one")
    return counts[list(ANSWERS)]


def _of_samples(answers: pd.DataFrame) -> pd.DataFrame:
    values = answers["correct"]
    invalid = ~(values.isna() | values.isin([0, 1]))
    if invalid.any():
        row = answers[invalid].iloc[0]
        raise UserError(f"answers: {_name(row)}: correct is {row['correct']}; allowed: 0, 1, or nothing if not graded")
    groups = answers.assign(correct=pd.to_numeric(values)).groupby([*_KEY, "cluster"], sort=False)["correct"]
    return groups.agg(sampled="size", n="count", correct="sum").astype(int).reset_index()


def _of_counts(answers: pd.DataFrame) -> pd.DataFrame:
    counts = answers if "sampled" in answers else answers.assign(sampled=answers["n"])
    for name in ("n", "correct", "sampled"):
        if not pd.api.types.is_integer_dtype(counts[name]):
            raise UserError(f"answers: {name} is of type {counts[name].dtype}; allowed: whole numbers")
    invalid = ~((counts["correct"] >= 0) & (counts["correct"] <= counts["n"]) & (counts["n"] <= counts["sampled"]))
    if invalid.any():
        row = counts[invalid].iloc[0]
        found = ", ".join(f"{name} {row[name]}" for name in ("correct", "n", "sampled"))
        raise UserError(f"answers: {_name(row)}: {found}; allowed: 0 <= correct <= n <= sampled")
    if (repeated := counts.duplicated(_KEY)).any():
        raise UserError(f"answers: {_name(counts[repeated].iloc[0])} is there twice; allowed: once")
    return counts


def _check_complete(counts: pd.DataFrame) -> None:
    rows = counts.groupby(_KEY, sort=False).size().unstack(_PROBLEM)
    lacks = rows.isna()
    if lacks.any(axis=None):
        model, run = lacks.index[int(lacks.any(axis=1).to_numpy().argmax())]
        missing = [f"{problem} of {benchmark}" for benchmark, problem in lacks.columns[lacks.loc[(model, run)]]]
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise UserError(
            f"answers: {model}, run {run}: no answer to problem {', '.join(missing[:3])}{more}, which others answered;"
            " allowed: every run answers the same problems"
        )


def _name(row: pd.Series) -> str:
    return f"{row['model']}, run {row['run']}, problem {row['problem']} of {row['benchmark']}"
