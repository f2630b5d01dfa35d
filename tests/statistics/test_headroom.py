"""Benchmarks without headroom stay outside of the average, whatever the trained models do there."""

import pandas as pd
import pytest
import synthetic

from ict_core.errors import UserError
from ict_core.statistics.analysis import analyse
from ict_core.statistics.arms import run_frame
from ict_core.statistics.contrasts import Comparisons
from ict_core.statistics.headroom import with_headroom
from ict_core.statistics.schemas import BASE

PER_PROBLEM = ["model", "variant", "seed", "benchmark"]


def easy(scores, benchmark, models=("tiny",), solved=1.0):
    """The scores with so many of a benchmark's answers of the base models right."""
    rows = (scores["benchmark"] == benchmark) & (scores["variant"] == BASE) & scores["model"].isin(models)
    right = (scores.loc[rows, "n"] * solved).astype("int64")
    scores.loc[rows, "correct"], scores.loc[rows, ["wrong", "no_answer"]] = right, 0
    scores.loc[rows, "wrong"] = scores.loc[rows, "n"] - right
    return scores


def test_a_benchmark_that_one_model_untrained_solves_is_outside_for_all():
    scores = easy(synthetic.scores(variants=["grpo"]), "mini-stem", solved=0.5)  # pass@4 of 8 samples: 1 - 1/70
    inside = [name for name in synthetic.BENCHMARKS if name != "mini-stem"]
    assert with_headroom(scores, 0.05) == inside
    assert "mini-stem" in with_headroom(scores, 1 / 70)


def test_no_benchmark_with_headroom_is_refused_with_what_each_leaves():
    scores = synthetic.scores(["tiny"], ["grpo"])
    with pytest.raises(UserError, match=r"headroom_points 99: .*mini-word \d.*allowed"):
        with_headroom(scores, 0.99)


def test_levels_and_contrasts_of_the_average_are_over_the_benchmarks_inside():
    scores = synthetic.scores(["tiny"], ["grpo", "ict-10"])
    inside = ["mini-word", "mini-aime23"]
    comparisons = Comparisons(("grpo",), {}, [], 0.02, 0.8)
    made = analyse(scores, ["grpo", "ict-10"], comparisons, averaged=inside)
    runs, levels = made["runs"], made["levels"]
    share = scores.assign(value=scores["correct"] / scores["n"]).groupby(PER_PROBLEM)["value"].mean()
    by_run = share.unstack("benchmark")[inside].mean(axis=1)["tiny"]
    assert levels["benchmark"].nunique() == 8
    levels = levels.query("benchmark == 'average' and metric == 'pass@1'").set_index("variant")
    assert levels.loc["grpo", "mean"] == pytest.approx(by_run["grpo"].mean(), abs=1e-12)
    assert levels.loc["grpo", "problems"] == 90
    row = made["contrasts"].query("benchmark == 'average' and metric == 'pass@1'").iloc[0]
    assert row["difference"] == pytest.approx((by_run["ict-10"] - by_run["grpo"]).mean(), abs=1e-12)
    average = runs.query("benchmark == 'average' and metric == 'pass@1'").set_index(["variant", "seed"])["value"]
    pd.testing.assert_series_equal(average.sort_index(), by_run.sort_index(), check_names=False)
    assert run_frame(scores, averaged=inside).equals(runs)
