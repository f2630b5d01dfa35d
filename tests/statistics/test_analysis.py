import numpy as np
import pandas as pd
import pytest
import synthetic

from ict_core.errors import UserError
from ict_core.statistics import Comparisons, analyse, run_frame
from ict_core.statistics import _deciding as deciding
from ict_core.statistics import _schemas as schemas
from ict_core.store import records

VARIANTS = ["grpo", "stapo", "ict-10"]
DECLARED = [("ict-10", "grpo", "pass@1"), ("ict-10", "grpo", "pass@4"), ("ict-10", "stapo", "total")]
FRAMES = ("runs", "levels", "contrasts", "components")


@pytest.fixture(scope="module")
def scores():
    both = synthetic.scores(models=["tiny", "small"], variants=VARIANTS, seeds=(1, 2, 3))
    return both[~((both["model"] == "small") & (both["variant"] == "stapo"))]


def run(scores, variants=VARIANTS, baselines=("grpo", "stapo"), declared=DECLARED, margin=0.02, power=0.8):
    return analyse(
        scores,
        variants,
        Comparisons(baselines, dict.fromkeys(declared, "question"), (), margin, power),
    )


@pytest.fixture(scope="module")
def found(scores):
    return run(scores)


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_keeps_its_schema(found, name, tmp_path):
    records.write_frame(getattr(found, name), tmp_path / "frame.parquet", schemas.STATISTICS[name])


@pytest.mark.slow
def test_other_numbers_of_samples_for_some_benchmarks_change_nothing_elsewhere():
    """The AIMEs with 32 samples a problem, the rest with 16: their levels, intervals and components are as before."""
    few, many = (synthetic.scores(models=["tiny"], variants=VARIANTS, seeds=(1, 2, 3), n=n) for n in (16, 32))
    aime = few["benchmark"].str.startswith("mini-aime")
    mixed = run(pd.concat([few[~aime], many[aime]], ignore_index=True))
    alone, of_aime = run(few), run(many)
    assert set(mixed.runs["metric"]) == set(alone.runs["metric"]) < set(of_aime.runs["metric"])
    for name in ("runs", "levels", "components"):
        parts = []
        for frame, chosen in ((alone, False), (of_aime, True)):
            of = getattr(frame, name)
            rows = of["benchmark"].str.startswith("mini-") & (of["benchmark"].str.startswith("mini-aime") == chosen)
            parts.append(of[rows & of["metric"].isin(mixed.runs["metric"])])
        wanted = pd.concat(parts)
        made = getattr(mixed, name)
        key = [column for column in wanted if column in (*records.SCORES, "metric", "source")]
        made = made[made["benchmark"].str.startswith("mini-")]
        if name == "components":  # at pass@16 the sampling is known only where n is 32: as for each on its own
            assert made["source"].nunique() == len(schemas.SOURCES_OF_VARIANCE)
        pd.testing.assert_frame_equal(
            made.sort_values(key, ignore_index=True), wanted.sort_values(key, ignore_index=True)
        )
    assert np.isfinite(mixed.contrasts["difference"]).all()


def test_words_are_those_of_the_schema(found):
    assert set(found.levels["interval"]) <= set(schemas.INTERVALS)
    assert set(found.contrasts["verdict"]) <= set(deciding.VERDICTS)
    assert set(found.contrasts["family"]) == set(schemas.FAMILIES)
    assert set(found.components["source"]) == set(schemas.SOURCES_OF_VARIANCE)


def test_the_runs_are_those_of_the_scores(found, scores):
    pd.testing.assert_frame_equal(found.runs, run_frame(scores))


def test_levels_and_contrasts_rest_on_the_runs(found):
    means = found.runs.groupby(["model", "variant", "benchmark", "metric"])["value"].agg(["mean", "count"])
    levels = found.levels.set_index(["model", "variant", "benchmark", "metric"])
    assert len(levels) == len(means)
    assert levels["mean"].to_numpy() == pytest.approx(means.loc[levels.index, "mean"].to_numpy())
    assert (levels["seeds"] == means.loc[levels.index, "count"]).all()
    for row in found.contrasts.itertuples():
        ours, theirs = (
            means.loc[(row.model, v, row.benchmark, row.metric), "mean"] for v in (row.variant, row.baseline)
        )
        assert row.difference == pytest.approx(ours - theirs, abs=1e-12)


def test_a_model_that_did_not_run_a_variant_goes_without_it(found):
    small = found.contrasts[found.contrasts["model"] == "small"]
    assert set(zip(small["variant"], small["baseline"], strict=True)) == {("ict-10", "grpo")}
    declared = found.contrasts[found.contrasts["family"] == "declared"]
    assert declared.groupby("model").size().to_dict() == {"tiny": 3, "small": 2}
    assert list(found.levels.loc[found.levels["model"] == "small", "variant"].unique()) == ["base", "grpo", "ict-10"]


def test_base_has_levels_only(found):
    base = found.levels[found.levels["variant"] == "base"]
    assert set(base["interval"]) == {"problems"} and (base["seeds"] == 1).all()
    assert "base" not in {*found.contrasts["variant"], *found.contrasts["baseline"], *found.components["variant"]}


@pytest.mark.slow
def test_the_same_whatever_the_order_of_rows_and_the_global_seed(found, scores):
    np.random.seed(5)  # noqa: NPY002 - must not matter
    again = run(scores.sample(frac=1, random_state=2))
    for name in FRAMES:
        frames = [getattr(a, name) for a in (found, again)]
        keys = [c for c, kind in schemas.STATISTICS[name].items() if kind == "str" or c == "seed"]
        keys = [c for c in keys if c not in ("verdict", "test", "interval", "family")]
        first, second = (f.sort_values(keys, ignore_index=True) for f in frames)
        pd.testing.assert_frame_equal(first, second, rtol=1e-9, atol=1e-12)


def test_one_sample_a_problem_gives_wilson():
    scores = synthetic.scores(models=["tiny"], variants=["grpo"], seeds=(1, 2), n=1)
    levels = run(scores, ["grpo"], ["grpo"], []).levels
    base = levels[levels["variant"] == "base"].set_index("benchmark")["interval"]
    assert base.pop("average") == "problems" and set(base) == {"wilson"}
    assert set(levels["metric"]) == {"pass@1"}


def test_a_declared_metric_without_the_samples_is_refused(scores):
    short = scores.copy()
    short.loc[short.index[3], ["sampled", "n", "correct"]] = [3, 3, 0]
    with pytest.raises(UserError, match="tiny/base/seed-0, problem mini-word-3 of mini-word: 3 samples are too few"):
        run(short)
    assert "pass@4" not in set(run(short, declared=DECLARED[:1]).levels["metric"])


@pytest.mark.slow
def test_a_time_out_takes_nothing_away(found, scores):
    timed_out = scores.copy()
    row = scores.index[(scores["variant"] == "ict-10") & (scores["wrong"] > 5)][0]
    timed_out.loc[row, ["n", "wrong", "timeout"]] += [-6, -6, 6]  # 2 of 8 are left
    again = run(timed_out)
    for name in FRAMES:
        before, after = getattr(found, name), getattr(again, name)
        assert len(before) == len(after)
        pd.testing.assert_frame_equal(before.isna(), after.isna())  # the sampling's component, too


@pytest.mark.slow
def test_declarations_for_other_studies_are_skipped(found, scores):
    other = [("ict-5", "grpo", "pass@64"), ("ict-10", "base", "pass@1")]
    again = run(scores, declared=[*DECLARED, *other, DECLARED[0]])
    pd.testing.assert_frame_equal(again.contrasts, found.contrasts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baselines": ["entropy-20"]}, r"baselines \['entropy-20'\]"),
        ({"baselines": ["base"], "variants": ["base", *VARIANTS]}, r"baselines \['base'\]"),
        ({"variants": [*VARIANTS, "ict-5"]}, "no run of ict-5"),
        ({"declared": [("ict-10", "grpo", "maj@4")]}, "metric 'maj@4'"),
        ({"power": 1.5}, "power 1.5"),
    ],
)
def test_what_does_not_fit_the_scores_is_refused(scores, options, message):
    with pytest.raises(UserError, match=message):
        run(scores, **options)
