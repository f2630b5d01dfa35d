r"""Whole benchmarks: every gold answer is correct against itself, and none against another row's.

The gold of a row is what its benchmark's authors take for it: the number after ``####`` in GSM8K, the last ``\boxed``
of MATH's solution, the stored answer elsewhere. Two rows of MATH's training part have no gold answer (EMPTY_BOXES);
there are no other exceptions. For MATH's training part the code itself reads the gold answer off the solution, so that
there it is only held against itself; MATH-500 states its answers, and `test_boxes.py` has boxes by hand.
"""

import pytest
from real_rows import math_train, rows

from ict_core.grading import GradingPool, last_box

AIME = {
    "2023": "math-ai/aime23/default/test.jsonl",
    "2024": "math-ai/aime24/default/test.jsonl",
    "2024-padded": "HuggingFaceH4/aime_2024/default/train.jsonl",
    "2025": "math-ai/aime25/default/test.jsonl",
}
EMPTY_BOXES = 2
"""Solutions of MATH's training part that end in an empty box: two of number_theory, both for "there is none"."""

GSM8K = ["openai/gsm8k/main/test.jsonl", "openai/gsm8k/main/train.jsonl"]


@pytest.fixture(scope="module")
def pool():
    with GradingPool(workers=1, seconds=10, memory_mib=1024) as pool:
        yield pool


def not_given(status, pool, items):
    """The items whose verdict has another status."""
    return [item for item, verdict in zip(items, pool.grade(items), strict=True) if verdict.status != status]


def dressed(golds, kind, *forms):
    return [(form.format(gold), gold, kind) for gold in golds for form in forms]


def wrong(golds, kind, spoil):
    """Boxed answers that differ from the gold of their row: what ``spoil`` makes of it, as far as it is another."""
    return [(f"\\boxed{{{spoil(gold)}}}", gold, kind) for gold in golds if spoil(gold) != gold]


def neighbours(golds, kind, same=str):
    return [
        (f"\\boxed{{{other}}}", gold, kind)
        for gold, other in zip(golds, golds[1:], strict=False)
        if same(gold) != same(other)
    ]


def number(gold):
    return int(gold.replace(",", ""))


@pytest.mark.slow
@pytest.mark.parametrize("path", GSM8K)
def test_gsm8k(pool, path):
    answers = [row["answer"] for row in rows(path)]
    golds = [answer.rpartition("####")[2].strip() for answer in answers]
    assert not_given("correct", pool, [(a, gold, "number") for a, gold in zip(answers, golds, strict=True)]) == []
    forms = ("\\boxed{{{}}}", "#### {}", "{}", "\\boxed{{\\${}}}", "so it is {} eggs.", "\\boxed{{{}.00\\text{{ cm}}}}")
    assert not_given("correct", pool, dressed(golds, "number", *forms)) == []
    assert not_given("correct", pool, [(f"#### {number(gold)}", gold, "number") for gold in golds]) == []
    assert not_given("wrong", pool, neighbours(golds, "number", number)) == []
    for spoil in (
        lambda gold: number(gold) + 1,
        lambda gold: -number(gold) if number(gold) else gold,
        lambda gold: number(gold) * 100 if number(gold) else gold,  # cents for dollars
        lambda gold: f"{gold}.5",
    ):
        assert not_given("wrong", pool, wrong(golds, "number", spoil)) == []


@pytest.mark.parametrize("year", AIME)
def test_aime(pool, year):
    golds = [row["answer"] for row in rows(AIME[year])]
    assert len(golds) == 30
    forms = ("\\boxed{{{}}}", "{}", "${}$", "The answer is {}.", "\\boxed{{\\text{{{}}}}}", "\\boxed{{{}.0}}")
    assert not_given("correct", pool, dressed(golds, "integer", *forms)) == []
    assert not_given("correct", pool, [(f"\\boxed{{{int(gold):03d}}}", gold, "integer") for gold in golds]) == []
    assert not_given("wrong", pool, neighbours(golds, "integer", int)) == []
    for spoil in (lambda gold: int(gold) + 1, lambda gold: -int(gold) or gold, lambda gold: 1000 + int(gold)):
        assert not_given("wrong", pool, wrong(golds, "integer", spoil)) == []


def test_the_boxed_solutions_of_aime_2024(pool):
    """One of the worked solutions of the padded copy holds no box."""
    stored = rows(AIME["2024"]) + rows(AIME["2024-padded"])
    items = [(row["solution"], row["answer"], "integer") for row in stored if last_box(row["solution"])]
    assert len(items) == 59
    assert not_given("correct", pool, items) == []


def test_mmlu_stem(pool):
    golds = ["ABCD"[row["answer"]] for row in rows("TIGER-Lab/MMLU-STEM/default/test.jsonl")]
    assert len(golds) == 3153
    forms = ("\\boxed{{{}}}", "{}", "Answer: {}", "The answer is ({}).", "\\boxed{{({})}}", "\\boxed{{\\text{{{}.}}}}")
    assert not_given("correct", pool, dressed(golds, "choice", *forms)) == []
    assert not_given("wrong", pool, neighbours(golds, "choice")) == []
    assert not_given("wrong", pool, wrong(golds, "choice", lambda gold: "BCDA"["ABCD".index(gold)])) == []


def respelled(gold):
    return gold.replace(r"\frac", r"\dfrac").replace(r"\left", "").replace(r"\right", "").replace(" ", "  ")


def integers(golds):
    return [gold for gold in golds if gold.removeprefix("-").isdecimal()]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["MATH-500", "MATH train"])
def test_math(pool, part):
    if part == "MATH train":
        solutions = [row["solution"] for row in math_train()]
        golds = [last_box(solution).answer for solution in solutions]
        assert golds.count("") == EMPTY_BOXES
        solutions, golds = [s for s, gold in zip(solutions, golds, strict=True) if gold], list(filter(None, golds))
    else:
        stored = rows("HuggingFaceH4/MATH-500/default/test.jsonl")
        solutions, golds = [row["solution"] for row in stored], [row["answer"] for row in stored]
    assert not_given("correct", pool, [(s, gold, "latex") for s, gold in zip(solutions, golds, strict=True)]) == []
    assert not_given("correct", pool, dressed(golds, "latex", "\\boxed{{{}}}", "so \\boxed{{${}$}}.")) == []
    assert not_given("correct", pool, [(f"\\boxed{{{respelled(gold)}}}", gold, "latex") for gold in golds]) == []
    for spoil in (lambda gold: int(gold) + 1, lambda gold: -int(gold) if int(gold) else gold):
        assert not_given("wrong", pool, wrong(integers(golds), "latex", spoil)) == []
    whole = integers(golds)
    assert not_given("wrong", pool, neighbours(whole, "latex", int)) == []
