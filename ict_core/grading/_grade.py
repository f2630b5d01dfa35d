"""The grading stage: completions to grades, after answers whose status is known."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from ict_core.errors import UserError
from ict_core.grading._gold import ANSWER_TYPES, refusal
from ict_core.grading._pool import GradingPool
from ict_core.process import Progress
from ict_core.store.records import GRADES


class Canary(NamedTuple):
    """A text with its gold answer and answer type, and the status that it must be given."""

    name: str
    text: str
    gold: str
    answer_type: str
    status: str


CANARIES = (
    Canary("equal integers", r"so \boxed{85}", "85", "math", "correct"),
    Canary("different integers", r"so \boxed{84}", "85", "math", "wrong"),
    Canary("padded integer", r"so \boxed{51}", "051", "math", "correct"),
    Canary("fraction with a slash", r"\boxed{1/2}", r"\frac{1}{2}", "math", "correct"),
    Canary("fraction as a decimal", r"\boxed{0.5}", r"\frac{1}{2}", "math", "correct"),
    Canary("fraction without braces", r"\boxed{\frac12}", "0.5", "math", "correct"),
    Canary("another fraction", r"\boxed{\frac{1}{3}}", r"\frac{1}{2}", "math", "wrong"),
    Canary("root in another form", r"\boxed{\sqrt{12}}", r"2\sqrt{3}", "math", "correct"),
    Canary("tuple with other spacing", r"\boxed{\left(1, 2\right)}", "(1,2)", "math", "correct"),
    Canary("tuple in another order", r"\boxed{(2,1)}", "(1,2)", "math", "wrong"),
    Canary("set in another order", r"\boxed{\{3, 1, 2\}}", r"\{1,2,3\}", "math", "correct"),
    Canary("set with another member", r"\boxed{\{1,2,4\}}", r"\{1,2,3\}", "math", "wrong"),
    Canary("last of two boxes", r"\boxed{7}, no, \boxed{\frac{2}{4}}", r"\frac{1}{2}", "math", "correct"),
    Canary("answer declared without a box", "the answer is 85", "85", "math", "correct"),
    Canary("box cut off", r"so \boxed{8", "8", "math", "no_answer"),
    Canary("right letter", r"so \boxed{\text{(B)}}", "B", "choice", "correct"),
    Canary("another letter", r"so \boxed{C}", "B", "choice", "wrong"),
    Canary("no letter", r"so \boxed{42}", "B", "choice", "no_answer"),
    Canary("letter before its option", r"\boxed{\textbf{(B)}~73}", "B", "choice", "correct"),
    Canary("one of two letters", r"\boxed{\text{(A) or (B)}}", "A", "choice", "no_answer"),
    Canary("letter outside a box", "Answer: (B)", "B", "choice", "correct"),
    Canary("letter only mentioned", "(B) is too small", "B", "choice", "no_answer"),
    Canary("latex in another form", r"\boxed{\dfrac{\sqrt{12}}{2}}", r"\sqrt{3}", "latex", "correct"),
    Canary("latex that differs", r"\boxed{\frac{\sqrt{12}}{3}}", r"\sqrt{3}", "latex", "wrong"),
    Canary("latex in a last sentence", r"So it is $\sqrt{3}$.", r"\sqrt{3}", "latex", "correct"),
    Canary("latex denied", r"So it is not $\sqrt{3}$.", r"\sqrt{3}", "latex", "no_answer"),
    Canary("integer, padded and dressed", r"so \boxed{$\text{033}$.}", "33", "integer", "correct"),
    Canary("integer against a padded gold", "the answer is 33.", "033", "integer", "correct"),
    Canary("integer as a fraction", r"\boxed{\frac{66}{2}}", "33", "integer", "correct"),
    Canary("integer beside another", r"\boxed{m+n=34}", "33", "integer", "wrong"),
    Canary("integer with another sign", r"\boxed{-33}", "33", "integer", "wrong"),
    Canary("integer in prose", "33 is not prime", "33", "integer", "no_answer"),
    Canary("number after the signs", "so 5 each\n#### 1,234", "1234", "number", "correct"),
    Canary("number with currency and decimals", r"\boxed{\$42.00 \text{ per day}}", "42", "number", "correct"),
    Canary("number at the end", "they need 40 + 2 = 42 eggs.", "42", "number", "correct"),
    Canary("number as a fraction", r"\boxed{\frac{84}{2}}", "42", "number", "correct"),
    Canary("number of millions", r"\boxed{42 \text{ million}}", "42", "number", "wrong"),
    Canary("number with another sign", "#### -42", "42", "number", "wrong"),
    Canary("no number", "I do not know", "42", "number", "no_answer"),
)


def check_canaries(pool: GradingPool) -> None:
    """Grade every canary, several by math-verify in a worker; a UserError names each whose status differs."""
    verdicts = pool.grade([(canary.text, canary.gold, canary.answer_type) for canary in CANARIES])
    failures = [
        f"{canary.name!r}: expected {canary.status}, found {verdict.status}"
        for canary, verdict in zip(CANARIES, verdicts, strict=True)
        if verdict.status != canary.status
    ]
    if failures:
        raise UserError(
            f"grading: {len(failures)} of {len(CANARIES)} answers with a known status are graded otherwise "
            f"({'; '.join(failures)}); mend the installation of math-verify, or raise the limits, and grade again"
        )


_PROBLEM = ["benchmark", "problem"]


def _reject(rows: pd.DataFrame, columns: Sequence[str], complaint: str) -> None:
    """Raise a UserError that names the first of the rows, if there is one."""
    if len(rows):
        first = ", ".join(f"{column} {rows[column].iloc[0]}" for column in columns)
        raise UserError(f"grading: {first}: {complaint}" + (f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""))


def _check(completions: pd.DataFrame, problems: pd.DataFrame) -> None:
    """Raise a UserError unless every problem is gradable and all of a benchmark have the same number of samples."""
    _reject(problems[problems.duplicated(_PROBLEM)], _PROBLEM, "the problem stands twice among the problems")
    kinds = problems["answer_type"]
    _reject(problems[~kinds.isin(ANSWER_TYPES)], _PROBLEM, f"its answer_type is not one of {', '.join(ANSWER_TYPES)}")
    _reject(problems[problems["answer"].str.strip().fillna("") == ""], _PROBLEM, "its answer is empty")
    wanted = pd.Series(map(refusal, problems["answer"], kinds), index=problems.index, dtype=object)
    for reason in wanted.dropna().unique():
        _reject(problems[wanted == reason], _PROBLEM, f"its answer is not {reason}")

    sample = [*_PROBLEM, "sample"]
    _reject(completions[completions.duplicated(sample)], sample, "the sample stands twice among the completions")
    known, used = (pd.MultiIndex.from_frame(frame[_PROBLEM]) for frame in (problems, completions))
    _reject(completions[~used.isin(known)], sample, "the problem is not among the problems")
    _reject(problems[~known.isin(used)], _PROBLEM, "the problem has no completion")
    counts = completions.groupby(_PROBLEM, sort=False).size().reset_index(name="samples")
    fewer = counts[counts["samples"] < counts.groupby("benchmark")["samples"].transform("max")]
    _reject(fewer, [*_PROBLEM, "samples"], "other problems of the benchmark have more samples")


def grade_completions(
    completions: pd.DataFrame, problems: pd.DataFrame, *, workers: int, seconds: float, memory_mib: int
) -> pd.DataFrame:
    """Grade every completion, after the canaries.

    Args:
        completions: a frame of ``records.COMPLETIONS``.
        problems: a frame of ``records.PROBLEMS``, of exactly the problems that the completions answer.

    Returns:
        a frame of ``records.GRADES``, one row a completion and in their order.

    Raises:
        UserError: a canary is graded otherwise than known, a worker does not start, or the frames do not fit: problems
            or samples that are unknown, missing or twice there, or an answer that cannot be graded.
    """
    _check(completions, problems)
    golds = completions[_PROBLEM].merge(problems, on=_PROBLEM, how="left", validate="many_to_one")
    with GradingPool(workers=workers, seconds=seconds, memory_mib=memory_mib) as pool:
        check_canaries(pool)
        items = list(zip(completions["text"], golds["answer"], golds["answer_type"], strict=True))
        verdicts = pool.grade(items, Progress("answer", len(items)).update)
    grades = completions.reset_index(drop=True).assign(
        status=[verdict.status for verdict in verdicts], extracted=[verdict.extracted for verdict in verdicts]
    )
    return grades[list(GRADES)]
