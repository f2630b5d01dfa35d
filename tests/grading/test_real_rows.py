r"""Whole benchmarks: every gold answer is correct against itself, and none against another row's.

The gold of a row is what its benchmark's authors take for it: the number after ``####`` in GSM8K, the last ``\boxed``
of MATH's solution, the stored answer elsewhere. Two solutions of MATH's training part end in an empty box, both for
"there is none"; there are no other exceptions. For MATH's training part the code itself reads the gold answer off the
solution, so that there it is only held against itself; MATH-500 states its answers, and `test_boxes.py` has boxes by
hand.
"""

from decimal import Decimal

import pytest
from published_sets import real_rows, rows

from ict_core.grading.boxes import last_box
from ict_core.grading.pool import GradingPool

pytestmark = real_rows


def stated(row):
    return row["answer"]


SETS = {  # files, answer type, number of gold answers, the gold answer of a row
    "gsm8k": ("openai/gsm8k/main/*.jsonl", "number", 8792, lambda row: row["answer"].rpartition("####")[2].strip()),
    "aime 2023": ("math-ai/aime23/default/test.jsonl", "integer", 30, stated),
    "aime 2024": ("math-ai/aime24/default/test.jsonl", "integer", 30, stated),
    "aime 2024, padded": ("HuggingFaceH4/aime_2024/default/train.jsonl", "integer", 30, stated),
    "aime 2025": ("math-ai/aime25/default/test.jsonl", "integer", 30, stated),
    "mmlu-stem": ("TIGER-Lab/MMLU-STEM/default/test.jsonl", "choice", 3153, lambda row: "ABCD"[row["answer"]]),
    "math-500": ("HuggingFaceH4/MATH-500/default/test.jsonl", "latex", 500, stated),
    "math": ("EleutherAI/hendrycks_math/*/train.jsonl", "latex", 7498, lambda row: last_box(row["solution"]).answer),
}
BOX = r"\boxed{{{}}}"
FORMS = {  # in which a gold answer is right
    "number": [BOX, "#### {}", "{}", r"\boxed{{\${}}}", "so it is {} eggs.", r"\boxed{{{}.00\text{{ cm}}}}"],
    "integer": [BOX, "{}", "${}$", "The answer is {}.", r"\boxed{{\text{{{}}}}}", r"\boxed{{00{}.0}}"],
    "choice": [BOX, "{}", "Answer: {}", "The answer is ({}).", r"\boxed{{({})}}", r"\boxed{{\text{{{}.}}}}"],
    "latex": [BOX, r"so \boxed{{${}$}}."],
}
SPOILED = {  # what differs from a gold answer, a number but for a choice
    "number": lambda gold: [gold + 1, -gold, gold * 100, gold + Decimal("0.5")],  # cents for dollars
    "integer": lambda gold: [gold + 1, -gold, gold + 1000],
    "choice": lambda gold: ["BCDA"["ABCD".index(gold)]],
    "latex": lambda gold: [gold + 1, -gold],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_a_gold_answer_is_correct_against_itself_and_against_no_other(name):
    pattern, kind, number, gold_of = SETS[name]
    stored = [row for row in rows(pattern) if gold_of(row)]
    golds = [gold_of(row) for row in stored]
    assert len(golds) == number
    correct = [(form.format(gold), gold, kind) for gold in golds for form in FORMS[kind]]
    solutions = [row["answer"] if kind == "number" else row.get("solution", "") for row in stored]
    solved = [(s, gold, kind) for s, gold in zip(solutions, golds, strict=True) if last_box(s) or "####" in s]
    assert len(solved) >= {"number": number, "latex": number}.get(kind, 0)
    if kind == "latex":
        for gold in golds:
            respelled = gold.replace(r"\frac", r"\dfrac").replace(r"\left", "").replace(r"\right", "")
            correct.append((f"\\boxed{{{respelled.replace(' ', '  ')}}}", gold, kind))
        golds = [gold for gold in golds if gold.removeprefix("-").isdecimal()]
    values = golds if kind == "choice" else [Decimal(gold.replace(",", "")) for gold in golds]
    others = [[*SPOILED[kind](value), after] for value, after in zip(values, [*values[1:], values[0]], strict=True)]
    wrong = [
        (f"\\boxed{{{other}}}", gold, kind)
        for gold, value, different in zip(golds, values, others, strict=True)
        for other in different
        if other != value
    ]
    with GradingPool(workers=1, seconds=10, memory_mib=1024) as pool:
        for status, items in (("correct", correct + solved), ("wrong", wrong)):
            verdicts = pool.grade(items)
            assert [item for item, v in zip(items, verdicts, strict=True) if v.status != status] == []
