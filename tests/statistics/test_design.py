"""Scores held against a design: what is accepted, and how each fault is named."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.errors import UserError
from ict_core.statistics import Design, check_scores
from ict_core.store.records import SCORES, STATUSES

FILE = Path("results/x/scores.parquet")
STUDY = {
    "grid": [{"models": ["tiny"], "methods": ["grpo", "ict-10"], "seeds": [1, 2]}],
    "benchmarks": [{"name": "word", "problems": 3}, {"name": "aime", "problems": 2}],
    "evaluation": {"samples": 4, "samples_of": {"aime": 8}},
}
DESIGN = Design.of(STUDY)
CELL_OF = {"model": "tiny", "variant": "ict-10", "seed": 2}


def scores() -> pd.DataFrame:
    """Every row of the design, half of the samples right."""
    rows = []
    for model, variant, seed in DESIGN.cells:
        for benchmark, problems in DESIGN.problems.items():
            n = DESIGN.samples[benchmark]
            row = {**dict.fromkeys(SCORES, 0), "model": model, "variant": variant, "seed": seed, "benchmark": benchmark}
            row |= {"sampled": n, "n": n, "correct": n // 2, "wrong": n - n // 2, "tokens": 9}
            rows += [{**row, "problem": f"{benchmark}-{i}"} for i in range(problems)]
    return pd.DataFrame(rows)[list(SCORES)]


def at(frame: pd.DataFrame, problem: str, **cell) -> pd.Index:
    wanted = {**CELL_OF, "problem": problem, **cell}
    return frame.index[(frame[list(wanted)] == list(wanted.values())).all(axis=1)]


def refused(frame: pd.DataFrame, design: Design = DESIGN) -> str:
    with pytest.raises(UserError) as error:
        check_scores(frame, design, FILE)
    return str(error.value)


def test_the_design_is_the_base_models_and_the_grid_with_each_benchmark_s_samples():
    assert DESIGN.cells == (("tiny", "base", 0), *(("tiny", v, s) for v in ("grpo", "ict-10") for s in (1, 2)))
    assert DESIGN.problems == {"word": 3, "aime": 2} and DESIGN.samples == {"word": 4, "aime": 8}
    alike = Design.of(STUDY | {"evaluation": {"samples": 4, "samples_of": None}})
    assert alike.samples == {"word": 4, "aime": 4}


@pytest.mark.slow
@given(order=st.randoms(use_true_random=False))
def test_whole_scores_pass_in_any_order_and_so_do_samples_that_could_not_be_graded(order):
    frame = scores()
    frame.loc[at(frame, "word-1"), ["n", "wrong", "timeout"]] = [3, 1, 1]
    frame.loc[at(frame, "aime-0"), ["n", "correct", "wrong", "no_answer", "memory", "error"]] = [0, 0, 0, 0, 5, 3]
    rows = list(frame.index)
    order.shuffle(rows)
    check_scores(frame.loc[rows], DESIGN, FILE)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"sampled": 3, "n": 3, "wrong": 1}, "sampled is 3; allowed: 4, as in study.json"),
        ({"sampled": 5, "n": 5, "wrong": 3}, "sampled is 5; allowed: 4, as in study.json"),
        (
            {"n": 3, "wrong": 1},  # a sample is gone without a status
            "correct 2 + wrong 1 + no_answer 0 + timeout 0 + memory 0 + error 0 = 3; allowed: 4, the samples drawn",
        ),
        ({"timeout": 1}, "+ timeout 1 + memory 0 + error 0 = 5; allowed: 4, the samples drawn"),
        ({"n": 3}, "n is 3; allowed: the graded samples, correct 2 + wrong 2 + no_answer 0 = 4"),
        ({"wrong": 1, "timeout": 1}, "n is 4; allowed: the graded samples, correct 2 + wrong 1 + no_answer 0 = 3"),
        ({"correct": 5, "wrong": -1}, "wrong is -1; allowed: at least 0"),
        ({"tokens": -1}, "tokens is -1; allowed: at least 0"),
        ({"truncated": 5}, "truncated is 5; allowed: at most 4, the samples drawn"),
    ],
)
def test_an_impossible_count_names_file_cell_benchmark_problem_and_what_is_allowed(changed, told):
    frame = scores()
    frame.loc[at(frame, "word-1"), list(changed)] = list(changed.values())
    error = refused(frame)
    assert error.startswith(f"{FILE}: tiny/ict-10/seed-2, problem word-1 of word: ") and told in error


def test_the_number_of_rows_with_a_fault_is_told():
    frame = scores()
    frame.loc[frame["benchmark"] == "aime", ["sampled", "n", "wrong"]] = [4, 4, 0]
    assert "tiny/base/seed-0, problem aime-0 of aime: sampled is 4; allowed: 8" in refused(frame)
    assert "(10 such rows)" in refused(frame)


@pytest.mark.slow
@given(st.sampled_from(["sampled", "n", *STATUSES]), st.integers(-9, 9).filter(bool), st.integers(0, 24))
def test_any_one_count_that_is_changed_alone_is_refused(column, by, row):
    frame = scores()
    frame.loc[row, column] += by
    error = refused(frame)
    of = frame.loc[row]
    assert f"{of['model']}/{of['variant']}/seed-{of['seed']}, problem {of['problem']} of {of['benchmark']}: " in error


def test_a_missing_problem_cell_and_benchmark_are_named():
    frame = scores()
    told = refused(frame.drop(at(frame, "word-1")))
    assert "tiny/ict-10/seed-2: 2 problems of word, without problem word-1; allowed: the 3 of study.json" in told
    told = refused(frame[frame["problem"] != "word-1"])  # gone from every cell
    assert "tiny/base/seed-0: 2 problems of word; allowed: the 3 of study.json, the same in every cell" in told
    cell = (frame[list(CELL_OF)] == list(CELL_OF.values())).all(axis=1)
    assert "no row of tiny/ict-10/seed-2; allowed: every cell of study.json" in refused(frame[~cell])
    told = refused(frame[~(cell & (frame["benchmark"] == "aime"))])
    assert "tiny/ict-10/seed-2: 0 problems of aime, without problem aime-0, aime-1; allowed: the 2" in told
    assert "no row of tiny/base/seed-0, tiny/grpo/seed-1, tiny/grpo/seed-2 and 2 more" in refused(frame[:0])


def test_another_problem_in_one_cell_is_named():
    frame = scores()
    frame.loc[at(frame, "word-1"), "problem"] = "word-9"
    told = refused(frame)
    assert "3 problems of word, without problem word-9, where all cells together have 4; allowed: the 3" in told


def test_what_the_design_does_not_have_is_named():
    frame = scores()
    other = frame[frame["seed"] == 2].assign(seed=3)
    assert "tiny/grpo/seed-3, tiny/ict-10/seed-3 is no cell of study.json" in refused(pd.concat([frame, other]))
    other = frame[:1].assign(benchmark="gpqa")
    assert "tiny/base/seed-0: benchmark 'gpqa' is not study.json's; allowed: word, aime" in refused(
        pd.concat([frame, other])
    )
    assert "tiny/base/seed-0: problem word-0 of word is there more than once" in refused(pd.concat([frame, frame[:1]]))
