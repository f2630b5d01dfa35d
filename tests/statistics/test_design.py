"""Scores held against a design: what is accepted, and how each fault is named."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.errors import UserError
from ict_core.statistics.design import Design, check_scores
from ict_core.store.records import SCORES, STATUSES

FILE = Path("results/x/scores.parquet")
STUDY = {
    "grid": [{"models": ["tiny"], "methods": ["grpo", "ict-10"], "seeds": [1, 2]}],
    "models": {"tiny": {"kind": "hub"}},
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
    own = Design.of(STUDY | {"models": {"tiny": {"kind": "pretrained-from-scratch"}}})
    assert own.cells[:3] == (("tiny", "base", 1), ("tiny", "base", 2), ("tiny", "grpo", 1))
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
        ({"n": 3, "wrong": 1}, "statuses count 3; allowed: 4"),  # a sample is gone without a status
        ({"timeout": 1}, "statuses count 5; allowed: 4"),
        ({"n": 3}, "n is 3; allowed: 4"),
        ({"wrong": 1, "timeout": 1}, "n is 4; allowed: 3"),
        ({"tokens": -1}, "a count is -1; allowed: at least 0"),
        ({"truncated": 5}, "truncated is 5; allowed: at most 4"),
    ],
)
def test_an_impossible_count_names_file_cell_benchmark_problem_and_what_is_allowed(changed, told):
    frame = scores()
    frame.loc[at(frame, "word-1"), list(changed)] = list(changed.values())
    error = refused(frame)
    assert error.startswith(f"{FILE}: tiny/ict-10/seed-2, problem word-1 of word: ") and told in error


@pytest.mark.slow
@given(st.sampled_from(["sampled", "n", *STATUSES]), st.integers(-9, 9).filter(bool), st.integers(0, 24))
def test_any_one_count_that_is_changed_alone_is_refused(column, by, row):
    frame = scores()
    frame.loc[row, column] += by
    error = refused(frame)
    of = frame.loc[row]
    assert f"{of['model']}/{of['variant']}/seed-{of['seed']}, problem {of['problem']} of {of['benchmark']}: " in error


SCORED = scores()
CELL = (SCORED[list(CELL_OF)] == list(CELL_OF.values())).all(axis=1)
WORD_1 = SCORED["problem"] == "word-1"


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (SCORED[~(CELL & WORD_1)], "tiny/ict-10/seed-2: problem word-1 is not there once of word; allowed: the 3"),
        (SCORED[~WORD_1], "tiny/base/seed-0: 2 problems of word; allowed: the 3"),
        (SCORED[~CELL], "no row of tiny/ict-10/seed-2; allowed: every cell"),
        (SCORED[~(CELL & (SCORED["benchmark"] == "aime"))], "tiny/ict-10/seed-2: problem aime-0, aime-1 is not"),
        (SCORED[SCORED["benchmark"] != "aime"], "tiny/base/seed-0: 0 problems of aime; allowed: the 2"),
        (SCORED[:0], "no row of tiny/base/seed-0, tiny/grpo/seed-1, tiny/grpo/seed-2 and 2 more"),
        (SCORED.assign(problem=SCORED["problem"].mask(CELL & WORD_1, "word-9")), "problem word-9 is not there once"),
        (pd.concat([SCORED, SCORED[CELL].assign(seed=3)]), "tiny/ict-10/seed-3 is no cell of study.json"),
        (pd.concat([SCORED, SCORED[:1].assign(benchmark="gpqa")]), "benchmark 'gpqa' is not study.json's; allowed"),
        (pd.concat([SCORED, SCORED[:1]]), "tiny/base/seed-0: problem word-0 is not there once"),
    ],
)
def test_what_is_missing_unknown_or_there_twice_is_named(frame, told):
    assert told in refused(frame)
