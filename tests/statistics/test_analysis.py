"""All frames of a study, from its scores: what goes into which, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import synthetic

from ict_core.errors import UserError
from ict_core.statistics.analysis import analyse
from ict_core.statistics.arms import run_frame
from ict_core.statistics.contrasts import Comparisons
from ict_core.statistics.schemas import STATISTICS, statistics_of
from ict_core.store import records

VARIANTS = ["grpo", "stapo", "ict-10"]
DECLARED = [("ict-10", "grpo", "pass@1"), ("ict-10", "grpo", "pass@4"), ("ict-10", "stapo", "total")]


@pytest.fixture(scope="module")
def scores():
    both = synthetic.scores(models=["tiny", "small"], variants=VARIANTS, seeds=(1, 2, 3))
    return both[~((both["model"] == "small") & (both["variant"] == "stapo"))]


def run(scores, variants=VARIANTS, baselines=("grpo", "stapo"), declared=DECLARED, margin=0.02, power=0.8):
    return analyse(scores, variants, Comparisons(baselines, dict.fromkeys(declared, ("question",)), (), margin, power))


@pytest.fixture(scope="module")
def found(scores):
    return run(scores)


def test_every_frame_keeps_its_schema(found, tmp_path):
    assert list(found) == ["runs", "levels", "contrasts"]
    for name, frame in found.items():
        records.write_frame(frame, tmp_path / f"{name}.parquet", STATISTICS[name])


def test_learning_curves_are_of_studies_that_have_them():
    with_them = statistics_of({"learning_curve": {"every": 8}})
    assert with_them == list(STATISTICS)
    assert statistics_of({}) == [name for name in with_them if name != "learning_curve_means"] != with_them


def test_a_declared_contrast_of_arms_that_no_model_has_is_left_out(scores, found):
    also = run(scores, declared=[*DECLARED, ("absent", "grpo", "pass@3"), ("grpo", "absent", "pass@3")])
    for name, frame in found.items():  # nor is its metric computed
        pd.testing.assert_frame_equal(also[name], frame)


@pytest.mark.slow
def test_other_numbers_of_samples_for_some_benchmarks_change_nothing_elsewhere():
    """The AIMEs with 32 samples a problem, the rest with 16: their levels and intervals are as before."""
    few, many = (synthetic.scores(models=["tiny"], variants=VARIANTS, seeds=(1, 2, 3), n=n) for n in (16, 32))
    aime = few["benchmark"].str.startswith("mini-aime")
    mixed = run(pd.concat([few[~aime], many[aime]], ignore_index=True))
    alone, of_aime = run(few), run(many)
    metrics = set(mixed["runs"]["metric"])
    assert metrics == set(alone["runs"]["metric"]) < set(of_aime["runs"]["metric"])
    for name in ("runs", "levels"):
        parts = []
        for frame, chosen in ((alone[name], False), (of_aime[name], True)):
            rows = frame["benchmark"].str.startswith("mini-") & frame["metric"].isin(metrics)
            parts.append(frame[rows & (frame["benchmark"].str.startswith("mini-aime") == chosen)])
        wanted, made = pd.concat(parts), mixed[name]
        made = made[made["benchmark"].str.startswith("mini-")]
        key = [column for column in wanted if column in (*records.SCORES, "metric")]
        wanted, made = (frame.sort_values(key, ignore_index=True) for frame in (wanted, made))
        pd.testing.assert_frame_equal(made, wanted)


def test_levels_and_contrasts_rest_on_the_runs(found, scores):
    pd.testing.assert_frame_equal(found["runs"], run_frame(scores))
    means = found["runs"].groupby(["model", "variant", "benchmark", "metric"])["value"].agg(["mean", "count"])
    levels = found["levels"].set_index(["model", "variant", "benchmark", "metric"])
    assert len(levels) == len(means)
    assert levels["mean"].to_numpy() == pytest.approx(means.loc[levels.index, "mean"].to_numpy())
    assert (levels["seeds"] == means.loc[levels.index, "count"]).all()
    for row in found["contrasts"].itertuples():
        ours, theirs = (
            means.loc[(row.model, v, row.benchmark, row.metric), "mean"] for v in (row.variant, row.baseline)
        )
        assert row.difference == pytest.approx(ours - theirs, abs=1e-12)


def test_a_model_that_did_not_run_a_variant_goes_without_it(found):
    small = found["contrasts"][found["contrasts"]["model"] == "small"]
    assert set(zip(small["variant"], small["baseline"], strict=True)) == {("ict-10", "grpo")}
    declared = found["contrasts"][found["contrasts"]["family"] == "declared"]
    assert declared.groupby("model").size().to_dict() == {"tiny": 3, "small": 2}
    levels = found["levels"]
    assert list(levels.loc[levels["model"] == "small", "variant"].unique()) == ["base", "grpo", "ict-10"]


@pytest.mark.slow
def test_the_same_whatever_the_order_of_rows_and_the_global_seed(found, scores):
    np.random.seed(5)  # noqa: NPY002 - must not matter
    again = run(scores.sample(frac=1, random_state=2))
    keys = {"model", "variant", "baseline", "seed", "benchmark", "metric", "question"}
    for name, frame in found.items():
        key = [column for column in frame if column in keys]
        first, second = (f.sort_values(key, ignore_index=True) for f in (frame, again[name]))
        pd.testing.assert_frame_equal(first, second, rtol=1e-9, atol=1e-12)


def test_one_sample_a_problem_gives_wilson():
    scores = synthetic.scores(models=["tiny"], variants=["grpo"], seeds=(1, 2), n=1)
    levels = run(scores, ["grpo"], ["grpo"], [])["levels"]
    base = levels[levels["variant"] == "base"].set_index("benchmark")["interval"]
    assert base.pop("average") == "problems" and set(base) == {"wilson"}
    assert set(levels["metric"]) == {"pass@1"}


def test_a_declared_metric_without_the_samples_is_refused(scores):
    short = scores.copy()
    short.loc[short.index[3], ["sampled", "n", "correct"]] = [3, 3, 0]
    with pytest.raises(UserError, match="mini-word-3 of mini-word: 3"):
        run(short)
    assert "pass@4" not in set(run(short, declared=DECLARED[:1])["levels"]["metric"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baselines": ["entropy-20"]}, r"baselines \['entropy-20'\]"),
        ({"baselines": ["base"], "variants": ["base", *VARIANTS]}, r"baselines \['base'\]"),
        ({"variants": [*VARIANTS, "ict-5"]}, "no run of ict-5"),
        ({"declared": [("ict-10", "grpo", "maj@4")]}, "metric 'maj@4'"),
        ({"power": 1.5}, "power 1.5"),
        ({"margin": 0.0}, "margin 0.0"),
    ],
)
def test_what_does_not_fit_the_scores_is_refused(scores, options, message):
    with pytest.raises(UserError, match=message):
        run(scores, **options)


def test_arms_without_a_common_seed_are_no_pair(scores):
    other = scores["variant"].isin(["ict-10"])
    whole, apart = (run(frame)["contrasts"] for frame in (scores, scores.assign(seed=scores["seed"] + 3 * other)))
    assert "ict-10" in set(whole["variant"])
    assert "ict-10" not in {*apart["variant"], *apart["baseline"]} and len(apart)
