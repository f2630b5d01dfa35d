"""Reward and evaluation judge a text alike, on every published benchmark."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from cases import CASES

from ict_core.grading import GradingPool, grade_completions
from ict_core.store.records import COMPLETIONS, PROBLEMS
from ict_core.training._rewards import verifier_reward

LIMITS = {"workers": 1, "seconds": 10.0, "memory_mib": 1024}
FILES = Path(__file__).parents[2] / "configs" / "benchmarks"
PUBLISHED = ("gsm8k", "math-500", "aime-23", "aime-24", "aime-25", "mmlu-stem", "gpqa")


@pytest.fixture(scope="module")
def pool():
    with GradingPool(**LIMITS) as pool:
        yield pool


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", PUBLISHED)
def test_the_reward_is_1_where_the_evaluation_says_correct(pool, benchmark):
    kind = yaml.safe_load((FILES / f"{benchmark}.yaml").read_text(encoding="utf-8"))["answer_type"]
    rows = [row for group in CASES.values() for row in group if row[0] == kind]
    problems = [(benchmark, str(n), "?", "[]", "?", row[1], kind) for n, row in enumerate(rows)]
    answers = [(benchmark, str(n), 0, 7, row[2], 1, "stop", -1.0) for n, row in enumerate(rows)]
    frames = pd.DataFrame(answers, columns=list(COMPLETIONS)), pd.DataFrame(problems, columns=list(PROBLEMS))
    evaluated = grade_completions(*frames, **LIMITS)["status"]
    rewards = verifier_reward(pool)([row[2] for row in rows], [row[1] for row in rows], [kind] * len(rows))
    assert rewards == [float(status == "correct") for status in evaluated]
    assert 0.0 in rewards and 1.0 in rewards
    assert list(evaluated) == [row[3] for row in rows], "in a worker a text has the status that it has here"
