import resource
import time

import pandas as pd
import pytest
from hostile_texts import ITEMS, SPACES, grade_hostile
from hypothesis import HealthCheck, given, settings

from ict_core.errors import UserError
from ict_core.grading.answers import SETTLERS
from ict_core.grading.grade import grade_completions
from ict_core.grading.pool import GradingPool
from ict_core.store.records import COMPLETIONS, PROBLEMS, write_frame

pytestmark = pytest.mark.slow

GOLDS = {"latex": r"\frac{1}{3}", "integer": "42", "number": "42", "choice": "B"}
ANSWERS = {
    "tower": "9^9^9^9",
    "nested braces": "{" * 10_000 + "5" + "}" * 10_000,
    "open braces": "{" * 10_000,
    "nested dress": r"\text{" * 10_000 + "5" + "}" * 10_000,
    "nested boxes": r"\boxed{" * 10_000 + "5" + "}" * 10_000,
    "megabyte of boxes": r"\boxed{" * 125_000 + "}" * 125_000,
    "megabyte of bare boxes": r"\boxed " * 142_857,
    "megabyte of digits": "1" * 1_000_000,
    "megabyte of signs": "-" * 1_000_000,
    "megabyte of markers": "#### " * 200_000,
    "megabyte of spaces": "answer" + " " * 1_000_000,
    "megabyte of declarations": "answer is " * 100_000,
    "megabyte of sentences": "so the final answer is $5$. " * 40_000,
    "megabyte of words": "the " * 250_000 + "option",
    "megabyte of ties": "5" + "~ " * 500_000 + "x",
    "megabyte of options": "(A) " * 250_000,
    "megabyte of points": "1.," * 333_333,
    "digits over three": "1" * 90_000 + "/3",
    "a file": r"\input{/etc/passwd}",
    "a write": r"\immediate\write18{touch /tmp/written}",
    "Arabic-Indic digits": "٤٢",
    "full-width digits": "４２",
    "full-width letter": "Ｂ",
    "nul": "\0",
    "spaces": " " * 90_000 + "x",
    "parentheses": "(" * 500 + "5" + ")" * 500,
    "binomial": r"\binom{10^9}{5\cdot10^8}",
    "factorial": r"999999999!",
}
IN_A_WORKER = [
    name for name in ANSWERS if name[:8] != "megabyte" or name in ("megabyte of boxes", "megabyte of digits")
]
MEMORY_MIB = 512


@pytest.fixture(scope="module")
def pool():
    with GradingPool(workers=1, seconds=0.5, memory_mib=MEMORY_MIB) as pool:
        pool.grade([(r"\boxed{0.5}", r"\frac{1}{2}", "latex")])  # starts the worker
        yield pool


@pytest.fixture(scope="module")
def hasty():
    """A pool for answers that mostly run into its limit."""
    with GradingPool(workers=1, seconds=0.15, memory_mib=MEMORY_MIB) as pool:
        yield pool


def test_every_type_is_attacked():
    assert {**GOLDS, "math": GOLDS["latex"]}.keys() == SETTLERS.keys() and SETTLERS["math"] is SETTLERS["latex"]


@pytest.mark.parametrize("kind", ["latex", *(pytest.param(k, marks=pytest.mark.long) for k in GOLDS if k != "latex")])
@pytest.mark.parametrize("name", IN_A_WORKER)
def test_ends_within_the_limit_with_a_status_and_bounded_memory(hasty, kind, name):
    answer = ANSWERS[name]
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    verdicts = hasty.grade([(text, GOLDS[kind], kind) for text in (f"\\boxed{{{answer}}}", answer)])
    assert time.monotonic() - begin < 60  # the limit, starting a killed worker's successor, a busy machine
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024  # KiB; this process, not a worker
    for worker in hasty._workers:
        assert resource.prlimit(worker.process.pid, resource.RLIMIT_AS)[0] < (MEMORY_MIB + 1536) * 2**20
    for verdict in verdicts:
        assert verdict.status in ("wrong", "no_answer", "timeout", "memory", "error")
        assert "root" not in verdict.extracted
        assert len(verdict.extracted) <= 200


@pytest.mark.parametrize("kind", GOLDS)
@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("megabyte")])
def test_a_megabyte_of_text_is_linear(kind, name):
    """What runs before math-verify takes a hundredth of the time on a hundredth of the text, and no worker."""

    def seconds(text):
        begin = time.process_time()
        SETTLERS[kind](text, GOLDS[kind])
        return time.process_time() - begin

    tenth = min(seconds(ANSWERS[name][:100_000]) for _ in range(3))
    whole = seconds(ANSWERS[name])
    assert whole < 40 * max(tenth, 0.005)  # 100 times where quadratic
    assert whole < 5


@pytest.mark.parametrize("kind", GOLDS)
def test_a_missing_text_is_an_error_and_not_wrong(pool, kind):
    assert pool.grade([(None, GOLDS[kind], kind)]) == [("error", "")]


def test_the_frame_holds_no_missing_text(tmp_path):
    texts = pd.DataFrame([("b", "p", 0, 7, None, 1, "stop", -1.0)], columns=list(COMPLETIONS))
    with pytest.raises(UserError, match="null"):
        write_frame(texts, tmp_path / "completions.parquet", COMPLETIONS)
    problems = pd.DataFrame([("b", "p", "?", "[]", "?", None, "number")], columns=list(PROBLEMS))
    with pytest.raises(UserError, match="problem p: its answer"):
        grade_completions(texts, problems, workers=1, seconds=1, memory_mib=MEMORY_MIB)


@pytest.mark.long
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(ITEMS, SPACES, SPACES)
def test_any_text_and_any_gold_have_a_status(pool, item, before, after):
    grade_hostile(pool, item, before, after)
    assert grade_hostile(pool, (r"\boxed{0.5}", r"\frac{1}{2}", "latex"), before, after) == "correct"  # the pool lives
