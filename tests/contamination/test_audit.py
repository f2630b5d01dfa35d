"""The audit's counts and pairs: a study made by hand, the study in miniature, the real rows."""

import json
import logging
from pathlib import Path

import pandas as pd
import pytest
from published_sets import MIRROR, OPEN, SETS, real_rows

from ict_core.commands.cli import main
from ict_core.config.load import load_study
from ict_core.contamination.overlap import audit, grade_unlogged
from ict_core.grading import math
from ict_core.problems.assemble import study_problems
from ict_core.problems.published.load import Item, prompt
from ict_core.store import records

STUDIES = Path(__file__).resolve().parents[2] / "configs/studies"
MINI = load_study(STUDIES / "mini.yaml")
GRADING = {"seconds": 10, "memory_mib": 1024}
LONG = "How many pens has Ann if she had 12 pens at first and then found 30 more of them"


def problems(name, *rows):
    """A frame of records.PROBLEMS from (id, question, answer[, options])."""
    published, made = SETS[name], []
    for item in [Item(*row) for row in rows]:
        shown = prompt(published.prompt.template, item)
        written = json.dumps(item.choices or ())
        made.append((name, item.id, item.question, written, shown, item.answer, published.answer_type))
    return pd.DataFrame(made, columns=list(records.PROBLEMS))


TRAINING = pd.concat(
    [
        problems("gsm8k-train", ("t1", f"{LONG}?", "42"), ("t2", "What is 1 + 2?", "3")),
        problems("math-train", ("t3", f"{LONG[:-1]}n?", "\\frac{84}{2}"), ("t4", "Find x.", "\\frac{1}{2}")),
    ],
    ignore_index=True,
)


@pytest.mark.slow
def test_counts_and_pairs_by_hand():
    options = ("$1/2$", "2", "3", "4")
    held_out = pd.concat(
        [
            problems("mmlu-stem", ("a", "find X", "A", options), ("a-2", "Find x!", "A", options)),
            problems("mmlu-stem", ("b", "find X", "B", options[::-1]), ("c", "Find y", "A", options)),
            problems("gsm8k", ("d", LONG.upper(), "42"), ("e", LONG.replace("12", "1"), "31")),
            problems("gsm8k", ("f", "What is 2?", "2")),
            problems("math-500", ("g", "What is 2 - 2?", "0"), ("h", "What is 5 + 5?", "10")),
        ],
        ignore_index=True,
    )
    counts, near = audit(TRAINING, held_out, GRADING)
    expected = [
        # benchmark, problems, training, repeated, exact, ngram, short, similar, same answer, but for numbers
        ("mmlu-stem", 4, 4, 1, 3, 0, 4, 3, 2, 3),
        ("gsm8k", 3, 4, 0, 1, 1, 1, 2, 1, 2),
        ("math-500", 2, 4, 0, 0, 0, 2, 0, 0, 1),
    ]
    assert list(counts.itertuples(index=False, name=None)) == expected
    pairs = near.drop(columns="similarity").to_numpy().tolist()
    assert pairs == [
        ["mmlu-stem", "a", "math-train", "t4", "yes"],  # of a choice, the option's text counts
        ["mmlu-stem", "a-2", "math-train", "t4", "yes"],
        ["mmlu-stem", "b", "math-train", "t4", "no"],
        ["gsm8k", "d", "gsm8k-train", "t1", "yes"],
        ["gsm8k", "d", "math-train", "t3", "yes"],
        ["gsm8k", "e", "gsm8k-train", "t1", "no"],
        ["gsm8k", "e", "math-train", "t3", "no"],
    ]
    assert near["similarity"].tolist()[:4] == [1.0] * 4 and near["similarity"].between(0.8, 1).all()


def test_the_shared_instruction_is_no_overlap_and_an_answer_that_cannot_be_compared_is_unknown():
    held_out = problems("math-500", ("a", "Name a prime.", "2"), ("b", "Find y", "\\frac{1}{2}"))
    training = problems("math-train", ("t", "Find y", "\\frac{1}{2"))
    counts, near = audit(training, held_out, GRADING)
    assert counts[["exact", "similar", "same_answer", "but_for_numbers"]].to_numpy().tolist() == [[1, 1, 0, 1]]
    assert near[["problem", "same_answer"]].to_numpy().tolist() == [["b", "unknown"]]


def test_a_failed_comparison_shows_no_answer_in_a_log(monkeypatch, caplog):
    def fail(answer, gold):
        raise RuntimeError

    monkeypatch.setattr(math, "_equal", fail)
    try:
        assert grade_unlogged("\\boxed{x+1}", "a secret", "latex").status == "error"
        assert caplog.text == ""
    finally:
        logging.disable(logging.NOTSET)
    assert math.grade_math("x+1", "a secret").status == "error" and "secret" in caplog.text


def test_generated_training_problems_are_new_and_their_templates_are_not():
    train, held_out = study_problems(MINI, None)
    counts = audit(train, held_out, GRADING)[0].set_index("benchmark")
    assert counts["problems"].sum() == 250 and (counts["training"] == 2000).all()
    assert (counts[["exact", "repeated"]] == 0).all(axis=None)
    assert counts.loc["mini-symbolic", "but_for_numbers"] == 40 and counts.loc["mini-word", "but_for_numbers"] > 20
    assert counts.loc[["mini-stem", "mini-science", "mini-aime23"], "but_for_numbers"].sum() == 0  # of other families


@pytest.mark.slow
def test_the_stage_writes_what_the_stored_run_holds(tmp_path):
    """That nothing has changed since the code wrote them; the counts and pairs by hand are at the top."""
    paths = {name: tmp_path / f"{name}.parquet" for name in ("train", "eval", "counts", "pairs")}
    options = {name: ["--study", str(STUDIES / "mini.yaml")] for name in ("data", "contamination")}
    for name, path in paths.items():
        options["contamination"] += [f"--{name}", str(path)]
    options["data"] += options["contamination"][2:6]
    assert [main([command, *given]) for command, given in options.items()] == [0, 0]
    stored = STUDIES.parents[1] / "results/reference/mini"
    for name, file in (("counts", "contamination"), ("pairs", "near_duplicates")):
        assert paths[name].read_bytes() == (stored / f"{file}.parquet").read_bytes()


@pytest.fixture(scope="module")
def real():
    """The audit of all published sets that are not gated and no part of another: its counts and pairs."""
    from ict_core.problems.published.load import load_problems

    frames = {name: load_problems(SETS[name], MIRROR, 0) for name in OPEN if "short" not in name}
    training, held_out = (
        pd.concat([frame for name, frame in frames.items() if name.endswith("train") == is_training])
        for is_training in (True, False)
    )
    return audit(training, held_out, GRADING)


@pytest.mark.long
@real_rows
def test_the_real_rows(real):
    """The figures of docs/contamination.md.

    But for the sizes, the audit itself gave them, so they only show that nothing has changed: its counts are checked by
    hand at the top, its searches against all pairs in `test_overlap.py`.
    """
    counts = real[0].set_index("benchmark")
    assert (counts["training"] == 7473 + 7498).all()
    columns = ["problems", "repeated", "exact", "ngram", "short", "similar", "same_answer", "but_for_numbers"]
    assert {name: tuple(row) for name, row in zip(counts.index, counts[columns].to_numpy(), strict=True)} == {
        "aime-23": (30, 0, 0, 7, 0, 0, 0, 0),
        "aime-24": (30, 0, 0, 9, 0, 0, 0, 0),
        "aime-25": (30, 0, 0, 10, 0, 0, 0, 0),
        "gsm8k": (1319, 0, 0, 3, 0, 0, 0, 0),
        "math-500": (500, 0, 0, 58, 12, 24, 2, 17),
        "mmlu-stem": (3153, 16, 74, 76, 231, 74, 73, 82),
    }


@real_rows
@pytest.mark.long
def test_two_real_problems_that_differ_by_one_sign_are_a_warning(real):
    """`tests/problems/test_published_rows.py` finds the pair by itself; the numbers show that nothing has changed."""
    near = real[1]
    pair = near[near["problem"] == "test/precalculus/285.json"]
    assert pair["training_set"].tolist() == ["math-train"] and pair["same_answer"].tolist() == ["no"]
    assert pair["training_problem"].str.startswith("precalculus-").all()
    assert pair["similarity"].iloc[0] == pytest.approx(0.917, abs=5e-4)
    assert len(near) == 118 and (near["same_answer"] == "yes").sum() == 76
