"""Comparisons against a study's own tables, hand-computed cases, scipy, and a brute-force posterior."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ict_core import compare
from ict_core.comparison.compare import credible_interval
from ict_core.comparison.show import as_json, as_page, as_text
from ict_core.errors import UserError
from ict_core.statistics.intervals import over_clusters, over_problems
from ict_core.statistics.schemas import AVERAGE

STORED = Path(__file__).parents[2] / "results" / "reference" / "mini"


def answers(**right: str) -> pd.DataFrame:
    """One sample a problem of each model, from texts of 0 and 1."""
    rows = [(model, place, int(c)) for model, text in right.items() for place, c in enumerate(text)]
    return pd.DataFrame(rows, columns=["model", "problem", "correct"])


def test_a_study_of_its_own_scores_is_what_its_tables_say():
    scores = pd.read_parquet(STORED / "scores.parquet").query("model == 'mini-m' and benchmark != 'mini-stem'")
    told = pd.read_csv(STORED / "tables" / "contrasts.csv")
    told = told.query(f"model == 'mini-m' and baseline == 'grpo' and benchmark == '{AVERAGE}'")
    own = scores.assign(model=scores["variant"], run=scores["seed"]).query("model != 'base'")
    found = compare(own, baseline="grpo")
    rows = found.differences.query(f"benchmark == '{AVERAGE}'").set_index(["model", "metric"])
    for row in told.query("metric in ('pass@1', 'pass@4') and variant != 'stapo'").itertuples():
        mine = rows.loc[(row.variant, row.metric)]
        assert (mine["over"], mine["units"]) == ("runs", 6)
        for name in ("difference", "low", "high", "detectable"):
            assert mine[name] == pytest.approx(getattr(row, name), abs=1e-9), (row.variant, name)
        assert mine["p"] == pytest.approx(row.p, abs=1e-9)
    assert rows.loc[("stapo", "pass@1"), "verdict"] == "identical"


def test_pass_4_needs_four_graded_samples_of_every_problem():
    four = pd.concat([answers(a="0110", b="0111")] * 4, ignore_index=True).astype({"correct": "float64"})
    assert set(compare(four).differences["metric"]) == {"pass@1", "pass@4"}
    four.loc[0, "correct"] = np.nan
    assert set(compare(four).differences["metric"]) == {"pass@1"}


def test_two_single_runs_are_a_paired_t_test_over_problems():
    found = compare(answers(small="0010110010", large="0111111010"))
    row = found.differences.iloc[0]
    gap = np.array([0, 1, 0, 1, 0, 0, 1, 0, 0, 0])  # by hand
    wanted = stats.ttest_rel(gap, np.zeros(10))
    low, high = wanted.confidence_interval()
    assert (row["over"], row["units"], row["difference"]) == ("problems", 10, pytest.approx(0.3))
    assert (row["p"], row["low"], row["high"]) == pytest.approx((wanted.pvalue, low, high))
    sided = max(stats.ttest_1samp(gap, b, alternative=a).pvalue for b, a in ((-0.02, "greater"), (0.02, "less")))
    assert row["p_equivalence_adjusted"] == pytest.approx(sided)
    assert any("One run alone" in note for note in found.notes)


def test_clusters_are_liang_and_zegers():
    gap, clusters = np.array([1.0, 1, 0, 0, 0, -1]), np.array(["a", "a", "b", "b", "c", "c"])
    found = over_clusters([gap], [clusters])
    sums = np.array([2, 0, -1]) - 2 * gap.mean()  # deviations by cluster, by hand
    assert found.se == pytest.approx(np.sqrt(3 / 2 * (sums**2).sum()) / 6) and found.df == 2
    alone, by_problem = over_clusters([gap], [np.arange(6)]), over_problems([gap])
    for name in ("mean", "se", "df", "low", "high"):
        assert float(getattr(alone, name)) == pytest.approx(float(getattr(by_problem, name)))
    frame = answers(one="000111", two="110110").assign(cluster=list(clusters) * 2)
    row = compare(frame).differences.iloc[0]
    assert (row["over"], row["units"]) == ("clusters", 3)
    assert row["p"] == pytest.approx(2 * stats.t.sf(gap.mean() / found.se, 2))


def test_holm_counts_every_model_and_the_margin_is_in_points():
    frame = answers(base="0010110010" * 6, same="0010110010" * 6, better="0111111010" * 6, other="1010110010" * 6)
    found = compare(frame, margin_points=40)
    rows = found.differences.set_index("model")
    p = rows["p"]
    assert rows.loc["better", "p_adjusted"] == pytest.approx(3 * p["better"])  # a test that cannot be made counts
    assert rows.loc["other", "p_adjusted"] == pytest.approx(2 * p["other"])
    assert rows["verdict"].to_dict() == {"same": "identical", "better": "better", "other": "better"}
    none = compare(frame.query("model != 'better'"), baseline="other", margin_points=40).differences
    assert set(none["model"]) == {"base", "same"} and (none["verdict"] == "worse").all()


def test_as_many_problems_as_are_needed_find_the_margin():
    rng = np.random.default_rng(5)
    one, two = (rng.random((400, 2)) < [0.5, 0.52]).T.astype(int)
    needed = compare(answers(one="".join(map(str, one)), two="".join(map(str, two))), margin_points=5).differences
    spread = (two - one).std(ddof=1)
    power = stats.nct.sf(stats.t.ppf(0.975, n := needed["needed"].iloc[0] - 1), n, 0.05 / spread * np.sqrt(n + 1))
    assert power == pytest.approx(0.8, abs=2e-3)


def test_many_problems_are_a_number_and_so_many_runs_are_too_many():
    one, two = "01" * 200, "0111" * 100
    found = compare(answers(one=one, two=two), margin_points=0.2)
    spread = np.std([int(b) - int(a) for a, b in zip(one, two, strict=True)], ddof=1)
    wanted = (stats.norm.ppf([0.975, 0.8]).sum() * spread / 0.002) ** 2  # of a normal test
    assert found.differences["needed"].iloc[0] == pytest.approx(wanted, rel=1e-3) and wanted > 100_000
    assert f" {found.differences['needed'].iloc[0]:.0f} " in as_text(found)
    runs = pd.concat([answers(a="0101", b=b).assign(run=r) for r, b in enumerate(("0111", "0011", "1111"))])
    assert "too many" in as_text(compare(runs, margin_points=0.01))


def test_a_posterior_is_beta_for_single_samples_and_brute_force_agrees_for_more():
    assert credible_interval([1] * 10, [1] * 7 + [0] * 3) == pytest.approx(stats.beta.ppf([0.025, 0.975], 8, 4))
    n, right = np.array([4, 4, 4, 8, 4]), np.array([4, 0, 3, 2, 4])
    rng = np.random.default_rng(0)
    theta, d = rng.beta(1, 1, 400_000), rng.gamma(1, 1, 400_000)
    logs = sum(stats.betabinom.logpmf(k, m, d * theta, d * (1 - theta)) for m, k in zip(n, right, strict=True))
    order, weight = np.argsort(theta), np.exp(logs)
    below = np.cumsum(weight[order]) / weight.sum()
    wanted = theta[order][np.searchsorted(below, [0.025, 0.975])]
    assert credible_interval(n, right) == pytest.approx(wanted, abs=0.01)


def test_runs_that_one_model_lacks_are_named_and_those_without_pairs_too():
    runs = pd.concat([answers(a="0101", b="0111" if r % 2 else "1101").assign(run=r) for r in range(6)])
    left = (runs["model"] == "a") & (runs["run"] > 3) | (runs["model"] == "b") & (runs["run"] < 2)
    found = compare(runs[~left])
    assert found.differences[["over", "units"]].to_numpy().tolist() == [["runs", 2]]
    assert any("0, 1, 4, 5" in note for note in found.notes)
    apart = compare(runs.assign(run=runs["run"].where(runs["model"] == "a", runs["run"] + 6)))
    assert apart.differences["over"].tolist() == ["problems"] and any("pairs of runs" in note for note in apart.notes)
    names = {number: f"seed {number}" for number in range(6)}
    named = compare(runs[~left].assign(run=lambda rows: rows["run"].map(names)))
    assert named.differences.equals(found.differences)
    assert any("the runs seed 0, seed 1, seed 4, seed 5 are" in note for note in named.notes)


def test_runs_that_are_copies_of_one_another_are_one_and_are_tested_over_problems():
    right = {"one": [0, 0, 1, 0, 1, 0], "two": [1, 0, 1, 1, 1, 0]}
    rows = [(m, run, p, value) for m, values in right.items() for run in (0, 1) for p, value in enumerate(values)]
    frame = pd.DataFrame(rows, columns=["model", "run", "problem", "correct"])
    twice, once = compare(frame), compare(frame[frame["run"] == 0])
    columns = ["over", "units", "difference", "low", "high", "p", "verdict"]
    assert twice.differences[columns].equals(once.differences[columns])
    assert twice.differences["over"].tolist() == ["problems"] and any("equal" in note for note in twice.notes)
    other = frame.assign(correct=frame["correct"].where((frame["run"] != 1) | (frame["problem"] != 5), 1))
    assert compare(other).differences["over"].tolist() == ["runs"]


def test_problems_of_one_name_in_two_benchmarks_are_one_cluster_only_if_clusters_are_given():
    frame = pd.concat([answers(a="010011", b="011111").assign(benchmark=name) for name in ("en", "de")])
    alone, shared = (compare(rows).differences for rows in (frame, frame.assign(cluster=frame["problem"])))
    average = [rows[rows["benchmark"] == AVERAGE].iloc[0] for rows in (alone, shared)]
    assert [(row["over"], row["units"]) for row in average] == [("problems", 12), ("clusters", 6)]


def test_levels_of_several_runs_are_told_to_ignore_clusters_also_where_no_runs_are_pairs():
    runs = pd.concat([answers(b="0111").assign(run=r) for r in range(2)] + [answers(a="0101").assign(run=0)])
    clustered = compare(runs.assign(cluster=runs["problem"] % 2))
    assert clustered.differences["over"].tolist() == ["clusters"]
    assert any("levels of several runs, take every problem" in note for note in clustered.notes)


@pytest.mark.parametrize(
    ("frame", "verdict"),
    [
        (answers(a="0000", b="1111"), "no spread"),
        (answers(a="0101", b="0101"), "identical"),
        (answers(a="0", b="1"), "one problem"),
        (answers(a="0011", b="0111").assign(cluster="x"), "one cluster"),
        (answers(a="1100", b="0011").assign(cluster="x"), "one cluster"),  # a mean difference of 0
        (pd.concat([answers(a=f"00{r % 2}", b=f"01{r % 2}").assign(run=r) for r in range(3)]), "no spread"),
        (pd.concat([answers(a="01", b="01").assign(run=r) for r in range(12)]), "identical"),
    ],
)
def test_a_difference_without_a_test_is_not_called_none_seen(frame, verdict):
    assert compare(frame).differences["verdict"].tolist() == [verdict]


def test_one_problem_of_a_benchmark_is_why_their_mean_has_no_test():
    parts = [answers(a="0011", b="0110").assign(benchmark="x"), answers(a="0", b="1").assign(benchmark="y")]
    rows = compare(pd.concat(parts)).differences.set_index("benchmark")
    assert rows["verdict"].to_dict() == {"x": "none seen", "y": "one problem", AVERAGE: "one problem"}


def test_differences_that_cancel_are_not_identical():
    parts = [answers(a="0", b="1").assign(benchmark="x"), answers(a="11", b="00").assign(benchmark="y")]
    rows = compare(pd.concat(parts)).differences.set_index("benchmark")
    assert rows.loc[AVERAGE, "difference"] == 0
    assert rows["verdict"].to_dict() == {"x": "one problem", "y": "no spread", AVERAGE: "one problem"}


@pytest.mark.parametrize(("others", "verdict"), [(24, "better"), (25, "no spread")])
def test_equal_differences_of_ten_runs_are_no_spread_where_the_correction_undoes_them(others, verdict):
    """p is 2 / 2^10, times the number of models: 0.0488 with 25, 0.0508 with 26."""
    models = {"a": "00", "b": "01"} | {f"c{i}": "00" for i in range(others)}
    runs = [{model: f"{text}{r % 2}" for model, text in models.items()} for r in range(10)]  # no copies of one another
    found = compare(pd.concat([answers(**texts).assign(run=r) for r, texts in enumerate(runs)])).differences
    assert found["verdict"].tolist() == [verdict, *["identical"] * others]


BAD = {
    "benchmark: 'average'": answers(a="01", b="01").assign(benchmark="average"),
    "no column correct": answers(a="01", b="01").drop(columns="correct"),
    "correct is 2": answers(a="02", b="01"),
    "a, run 0: no answer to problem 1 of all": answers(a="0", b="01"),
    "of a alone": answers(a="01"),
    "several clusters": answers(a="01", b="01").assign(cluster=["x", "y", "z", "y"]),
    "row 2 has no benchmark, cluster$": answers(a="01", b="01").assign(
        benchmark=["x", "x", None, "x"], cluster=["0", "1", None, "1"]
    ),
    "no sample was graded": answers(a="01", b="01").assign(correct=[None, 1, 0, 1]),
    "n is of type float64": answers(a="01", b="01").assign(n=1.0),
    "correct 1, n 0, sampled 0": answers(a="01", b="01").assign(n=0),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_answers_are_named(fault):
    with pytest.raises(UserError, match=fault):
        compare(BAD[fault])


def test_an_unknown_baseline_and_a_margin_out_of_range_are_refused():
    bad = {"baseline": ("c", "allowed: a, b"), "margin_points": (0.0, "above 0"), "power": (1.0, "power")}
    for option, (value, fault) in bad.items():
        with pytest.raises(UserError, match=fault):
            compare(answers(a="01", b="11"), **{option: value})


def test_text_json_and_page_have_every_number_and_the_page_stands_alone():
    models = {r"$\frac$": "0101" * 9, "b<i>": "0111" * 9}
    frame = pd.concat([answers(**models).assign(benchmark=name) for name in ("x", "y")])
    found = compare(frame)
    text, told, page = as_text(found), json.loads(as_json(found)), as_page(found)
    assert "+25.0" in text and "72 problems" in text and found.notes[0] in text
    assert [row["benchmark"] for row in told["differences"]] == ["x", "y", AVERAGE]
    assert told["levels"][0]["bayes_low"] < 0.5 < told["levels"][0]["bayes_high"]
    assert "<i>" not in page and "data:image/png" in page and "http" not in page
