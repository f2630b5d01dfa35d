import numpy as np
import pandas as pd
import pytest
import synthetic

from ict_core.errors import UserError
from ict_core.statistics.arms import run_frame
from ict_core.statistics.pairing import shown_variants
from ict_core.statistics.schemas import AVERAGE, STATISTICS

RUNS = list(STATISTICS["runs"])
METRICS = ["pass@1", "pass@2", "pass@4", "pass@8", "total"]


def score(benchmark, problem, correct, n=4, **cell):
    cell = {"model": "tiny", "variant": "grpo", "seed": 1, **cell}
    sampled = max(n, 4)
    counts = {"sampled": sampled, "n": n, "correct": correct, "wrong": n - correct, "timeout": sampled - n}
    zeros = dict.fromkeys(("no_answer", "memory", "error", "truncated", "tokens"), 0)
    return {**cell, "benchmark": benchmark, "problem": problem, **counts, **zeros}


@pytest.fixture
def scores():
    return synthetic.scores(models=["tiny"], variants=["grpo", "ict-10"], seeds=(1, 2))


def value(runs, benchmark, metric):
    return runs[(runs["benchmark"] == benchmark) & (runs["metric"] == metric)]["value"].item()


def test_by_hand():
    runs = run_frame(pd.DataFrame([score("a", "1", 0), score("a", "2", 2), score("b", "1", 4)]))
    assert list(runs.columns) == RUNS and list(runs["metric"].unique()) == METRICS[:3] + ["total"]
    assert value(runs, "a", "pass@1") == pytest.approx((0 + 1 / 2) / 2)
    assert value(runs, "a", "pass@2") == pytest.approx((0 + 5 / 6) / 2)
    assert value(runs, "a", "pass@4") == pytest.approx((0 + 1) / 2)
    assert value(runs, "a", "total") == pytest.approx((1 / 4 + 1 / 2) / 2)
    assert value(runs, "b", "pass@1") == 1
    # the macro-average: a weighs as much as b although it has twice the problems
    assert value(runs, AVERAGE, "pass@1") == pytest.approx((1 / 4 + 1) / 2)
    # pass@k is unbiased at any n >= k, so 16 samples here and 32 there average as they are
    rows = [score("math", "1", 4, n=16), score("math", "2", 16, n=16), score("aime", "1", 1, n=32)]
    runs = run_frame(pd.DataFrame(rows))
    assert value(runs, "math", "pass@4") == pytest.approx((1 - 495 / 1820 + 1) / 2)  # C(12, 4) / C(16, 4)
    assert value(runs, "aime", "pass@16") == pytest.approx(1 / 2)  # the one right of 32 is among 16 drawn
    assert value(runs, AVERAGE, "pass@16") == pytest.approx(3 / 4)


def test_ungraded_samples_are_neither_right_nor_wrong_and_take_no_metric_away():
    runs = run_frame(pd.DataFrame([score("a", "1", 1, n=2), score("a", "2", 0), score("b", "1", 1)]))
    assert list(runs["metric"].unique()) == METRICS[:3] + ["total"]
    assert value(runs, "a", "pass@1") == pytest.approx((1 / 2 + 0) / 2)
    assert value(runs, "a", "pass@4") == pytest.approx((1 + 0) / 2)  # of problem 1 its pass@2
    assert value(runs, "a", "total") == pytest.approx(((1 / 2 + 1) / 2 + 0) / 2)
    assert value(runs, "b", "pass@4") == 1 and value(runs, "b", "pass@1") == 1 / 4


def test_every_run_and_benchmark_is_there(scores):
    runs = run_frame(scores)
    assert len(runs) == 5 * 8 * 5  # cells (base and 2 x 2) x (7 benchmarks and the average) x metrics
    assert list(runs["benchmark"].unique()) == [*synthetic.BENCHMARKS, AVERAGE]
    share = scores.assign(share=scores["correct"] / scores["n"])
    expected = share.groupby(["variant", "seed", "benchmark"])["share"].mean()
    single = runs[(runs["metric"] == "pass@1") & (runs["benchmark"] != AVERAGE)]
    found = single.set_index(["variant", "seed", "benchmark"])
    assert np.allclose(found["value"], expected.reindex(found.index))
    key = RUNS[:-1]
    shuffled = run_frame(scores.sample(frac=1, random_state=3)).sort_values(key, ignore_index=True)
    pd.testing.assert_frame_equal(shuffled, run_frame(scores).sort_values(key, ignore_index=True))


def test_too_few_samples_name_cell_and_problem(scores):
    row = scores.index[(scores["variant"] == "ict-10") & (scores["seed"] == 2)][5]
    scores.loc[row, ["sampled", "n", "correct"]] = [3, 3, 0]
    with pytest.raises(UserError, match=r"tiny/ict-10/seed-2, .*mini-word-5 .*pass@4"):
        run_frame(scores, ("pass@1", "pass@4"))
    with pytest.raises(UserError, match=r"word-5 .* few for total"):
        run_frame(scores, ("pass@1", "total"))
    assert list(run_frame(scores)["metric"].unique()) == METRICS[:2]


def test_a_problem_without_any_graded_sample_is_named(scores):
    scores.loc[0, ["n", "correct"]] = 0
    with pytest.raises(UserError, match="base/seed-0, .*word-0 .*none"):
        run_frame(scores)


def test_a_missing_problem_names_cell_and_problem(scores):
    gone = scores.index[(scores["variant"] == "grpo") & (scores["benchmark"] == "mini-aime24") & (scores["seed"] == 1)]
    with pytest.raises(UserError, match="grpo/seed-1 lacks .*aime24-7 "):
        run_frame(scores.drop(gone[7]))


def test_models_may_have_different_problems(scores):
    other = scores[scores["benchmark"] == "mini-word"].assign(model="other")
    assert len(run_frame(pd.concat([scores, other]))) == 5 * (8 + 2) * 5


def test_no_scores_are_refused(scores):
    with pytest.raises(UserError, match="no rows"):
        run_frame(scores.iloc[:0])


def test_base_goes_first_where_it_was_evaluated(scores):
    assert shown_variants(scores, "tiny", ["ict-10", "base", "grpo"]) == ["base", "ict-10", "grpo"]
    assert shown_variants(scores[scores["variant"] != "base"], "tiny", ["ict-10", "grpo"]) == ["ict-10", "grpo"]
