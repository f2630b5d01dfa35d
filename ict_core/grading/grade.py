"""The grading stage: grades completions, after a check with answers whose status is known."""

from collections.abc import Sequence

import pandas as pd

from ict_core.errors import UserError
from ict_core.grading.gold import ANSWER_TYPES, refusal
from ict_core.grading.pool import GradingPool
from ict_core.process.job_log import Progress
from ict_core.store.records import GRADES

CANARIES = (  # texts on which math-verify decides, and others that linear-time code settles
    (r"\boxed{1/2}", r"\frac{1}{2}", "math", "correct"),
    (r"\boxed{\frac{1}{3}}", r"\frac{1}{2}", "math", "wrong"),
    (r"\boxed{\sqrt{12}}", r"2\sqrt{3}", "math", "correct"),
    (r"\boxed{\left(1, 2\right)}", "(1,2)", "math", "correct"),
    (r"\boxed{(2,1)}", "(1,2)", "math", "wrong"),
    (r"\boxed{\{3, 1, 2\}}", r"\{1,2,3\}", "math", "correct"),
    (r"\boxed{\{1,2,4\}}", r"\{1,2,3\}", "math", "wrong"),
    (r"so \boxed{8", "8", "math", "no_answer"),
    (r"\boxed{\dfrac{\sqrt{12}}{2}}", r"\sqrt{3}", "latex", "correct"),
    (r"\boxed{\frac{\sqrt{12}}{3}}", r"\sqrt{3}", "latex", "wrong"),
    (r"\boxed{\frac{66}{2}}", "33", "integer", "correct"),
    (r"\boxed{m+n=34}", "33", "integer", "wrong"),
    (r"\boxed{033}", "33", "integer", "correct"),
    (r"\boxed{\frac{84}{2}}", "42", "number", "correct"),
    ("so 5 each\n#### 1,234", "1234", "number", "correct"),
    (r"so \boxed{\text{(B)}}", "B", "choice", "correct"),
)
"""Texts with their gold answer and answer type, and the status that each must get."""


def _check_canaries(pool: GradingPool) -> None:
    verdicts = pool.grade([canary[:3] for canary in CANARIES])
    failures = [
        f"{text} for {gold}: expected {status}, found {verdict.status}"
        for (text, gold, _, status), verdict in zip(CANARIES, verdicts, strict=True)
        if verdict.status != status
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
    reasons = pd.Series(map(refusal, problems["answer"].fillna(""), kinds), index=problems.index, dtype=object)
    for reason in reasons.dropna().unique():
        _reject(problems[reasons == reason], _PROBLEM, f"its answer is not {reason}")

    sample = [*_PROBLEM, "sample"]
    _reject(completions[completions.duplicated(sample)], sample, "the sample stands twice among the completions")
    stated_keys, used_keys = (pd.MultiIndex.from_frame(frame[_PROBLEM]) for frame in (problems, completions))
    _reject(completions[~used_keys.isin(stated_keys)], sample, "the problem is not among the problems")
    _reject(problems[~stated_keys.isin(used_keys)], _PROBLEM, "the problem has no completion")
    counts = completions.groupby(_PROBLEM, sort=False).size().reset_index(name="samples")
    fewer = counts[counts["samples"] < counts.groupby("benchmark")["samples"].transform("max")]
    _reject(fewer, [*_PROBLEM, "samples"], "other problems of the benchmark have more samples")


def grade_completions(
    completions: pd.DataFrame, problems: pd.DataFrame, *, workers: int, seconds: float, memory_mib: int
) -> pd.DataFrame:
    """Grade every completion, after the canaries.

    Args:
        completions: a frame of ``records.COMPLETIONS``.
        problems: a frame of ``records.PROBLEMS``, with exactly the problems that the completions answer.

    Returns:
        a frame of ``records.GRADES``, one row per completion, in their order.

    Raises:
        UserError: a canary does not get its status, a worker does not start, or the frames do not fit: problems or
            samples that are unknown, missing or duplicated, or a gold answer that cannot be graded.
    """
    _check(completions, problems)
    golds = completions[_PROBLEM].merge(problems, on=_PROBLEM, how="left", validate="many_to_one")
    with GradingPool(workers=workers, seconds=seconds, memory_mib=memory_mib) as pool:
        _check_canaries(pool)
        items = list(zip(completions["text"], golds["answer"], golds["answer_type"], strict=True))
        verdicts = pool.grade(items, Progress("answer", len(items)).update)
    grades = completions.reset_index(drop=True).assign(
        status=[verdict.status for verdict in verdicts], extracted=[verdict.extracted for verdict in verdicts]
    )
    return grades[list(GRADES)]
