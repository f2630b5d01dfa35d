"""Contrasts against scipy and statsmodels; two-way limits and power are checked in `test_two_way` and `test_power`."""

from math import isnan

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ict_core.statistics.arms import Arm, difference
from ict_core.statistics.contrasts import Comparisons, contrast_frame
from ict_core.statistics.deciding import detectable, seeds_needed, sign_flip
from ict_core.statistics.intervals import two_way
from ict_core.statistics.schemas import STATISTICS
from ict_core.store.records import write_frame

CONTRASTS = STATISTICS["contrasts"]
MARGIN, POWER = 0.02, 0.8


def arm(variant, runs, problems=6, model="m", seed=0):
    """Benchmarks a and b whose run means are `runs`, with the same spread over problems."""
    around = np.random.default_rng(seed).normal(0, 0.01, (2, 1, problems))
    values = np.asarray(runs, dtype=float)[:, None] + around - around.mean(axis=2, keepdims=True)
    return Arm(f"{model}/{variant}", tuple(range(len(runs))), dict(zip("ab", values, strict=True)))


def study(metrics=("pass@1",), **runs):
    """Arms of model m from their run means."""
    return {metric: {("m", v.replace("_", "-")): arm(v, r) for v, r in runs.items()} for metric in metrics}


def contrasts(arms, baselines=("grpo",), declared=(), varied=(), margin=MARGIN):
    ran = {model: [v for m, v in next(iter(arms.values())) if m == model] for model in ("m", "l")}
    comparisons = Comparisons(baselines, dict.fromkeys(declared, ("question",)), varied, margin, POWER)
    return contrast_frame(arms, {m: v for m, v in ran.items() if v}, comparisons)


def pairs(variants, baselines, declared, varied=()):
    return Comparisons(baselines, dict.fromkeys(declared, ("question",)), varied, MARGIN, POWER).pairs(variants)


def average(frame, variant="ict"):
    found = frame[(frame["variant"] == variant) & (frame["benchmark"] == "average")]
    return found.iloc[0]


def test_pairs():
    variants, baselines = ["base", "grpo", "stapo", "ict", "random"], ["grpo", "stapo"]
    usual = [("stapo", "grpo"), ("ict", "grpo"), ("ict", "stapo"), ("random", "grpo"), ("random", "stapo")]
    assert pairs(variants, baselines, []) == usual
    # declared ones are added once; two baselines meet as declared; what the model did not run is left out
    declared = [("ict", "random", "pass@1"), ("ict", "random", "pass@4"), ("grpo", "stapo", "pass@1")]
    turned = [("grpo", "stapo"), *usual[1:], ("ict", "random")]
    assert pairs(variants, baselines, [*declared, ("ict", "ict-5", "pass@4")]) == turned
    assert pairs(["grpo", "ict"], baselines, declared) == [("ict", "grpo")]


def test_a_variant_meets_the_one_that_it_varies_once():
    variants, declared = ["grpo", "ict", "kl", "tv"], [("ict", "kl", "pass@4")]
    varied = [("kl", "ict"), ("tv", "ict"), ("tv", "grpo"), ("wasserstein", "ict")]
    usual = [("ict", "grpo"), ("kl", "grpo"), ("tv", "grpo"), ("ict", "kl")]
    assert pairs(variants, ["grpo"], declared, varied) == [*usual, ("tv", "ict")]


def test_a_row_agrees_with_scipy():
    ours, theirs = [0.5, 0.7, 0.6], [0.4, 0.5, 0.3]
    arms = study(grpo=theirs, ict=ours)
    row = average(contrasts(arms))
    test = stats.ttest_rel(ours, theirs)
    limits = test.confidence_interval()
    assert (row["difference"], row["low"], row["high"]) == pytest.approx((0.2, limits.low, limits.high))
    assert row["p"] == row["p_t"] == pytest.approx(test.pvalue) and row["test"] == "paired t"
    assert row["sd"] == pytest.approx(0.1) and row["seeds"] == 3
    assert row["correlation"] == pytest.approx(stats.pearsonr(ours, theirs).statistic)
    assert isnan(average(contrasts(study(grpo=[0.1 + 0.2, 0.3, 0.3], ict=ours)))["correlation"])
    assert (row["p_sign_flip"], row["p_floor"]) == (0.25, 0.25)
    paired = difference(arms["pass@1"]["m", "ict"], arms["pass@1"]["m", "grpo"])
    assert paired.name == "m/ict - m/grpo"
    both = two_way(paired.of("average")).of_difference()
    assert (row["two_way_low"], row["two_way_high"]) == pytest.approx((both.low, both.high))
    assert row["detectable"] == pytest.approx(detectable(0.1, 3, POWER))
    assert row["seeds_needed"] == seeds_needed(MARGIN, 0.1, POWER)
    assert row["seeds_needed_seen"] == seeds_needed(0.2, 0.1, POWER)
    above = stats.ttest_1samp(np.subtract(ours, theirs), -MARGIN, alternative="greater").pvalue
    below = stats.ttest_1samp(np.subtract(ours, theirs), MARGIN, alternative="less").pvalue
    assert row["p_equivalence"] == pytest.approx(max(above, below))


def test_every_row_is_there(tmp_path):
    metrics = ("pass@1", "pass@2", "pass@4", "total", "pass@8")
    arms = study(metrics, base=[0.2], grpo=[0.3, 0.4, 0.2], stapo=[0.3, 0.5, 0.2], ict=[0.5, 0.4, 0.4])
    frame = contrasts(arms, ["grpo", "stapo"], [("ict", "grpo", "pass@1"), ("ict", "grpo", "pass@8")])
    write_frame(frame, tmp_path / "contrasts.parquet", CONTRASTS)
    # three pairs x three usual metrics and the declared one x two benchmarks and the average; base is in no pair
    assert len(frame) == 3 * 4 * 3 and list(frame["metric"].unique()) == ["pass@1", "pass@4", "total", "pass@8"]
    assert set(frame["variant"]) | set(frame["baseline"]) == {"grpo", "stapo", "ict"}
    declared = frame[frame["family"] == "declared"]
    assert declared[["variant", "baseline", "benchmark", "metric"]].to_numpy().tolist() == [
        ["ict", "grpo", "average", "pass@1"],
        ["ict", "grpo", "average", "pass@8"],
    ]
    assert set(frame["family"]) == {"declared", "exploratory", "single benchmark"}
    assert set(frame.loc[frame["family"] != "single benchmark", "benchmark"]) == {"average"}
    none = contrasts(study(base=[0.1], grpo=[0.3, 0.4]))
    write_frame(none, tmp_path / "none.parquet", CONTRASTS)
    assert none.empty


def test_each_family_has_its_correction():
    rng = np.random.default_rng(1)
    runs = {name: rng.normal(0.4, 0.05, 3) for name in ("grpo", "stapo", "ict", "random")}
    declared = [("ict", "grpo", "pass@1"), ("ict", "stapo", "pass@1"), ("ict", "random", "pass@1")]
    frame = contrasts(study(**runs), ["grpo", "stapo"], declared)
    for family, method in (("declared", "holm"), ("exploratory", "fdr_bh"), ("single benchmark", "fdr_bh")):
        rows = frame[frame["family"] == family]
        for p in ("p", "p_equivalence"):
            assert rows[f"{p}_adjusted"].tolist() == pytest.approx(multipletests(rows[p], method=method)[1], rel=1e-12)
    assert (frame["family"] == "declared").sum() == 3


def test_each_question_is_corrected_on_its_own_and_the_same_runs_count_once():
    grpo, ict, random = [0.3, 0.4, 0.2], [0.5, 0.45, 0.4], [0.2, 0.1, 0.15]
    arms = study(grpo=grpo, stapo=grpo, ict=ict, random=random)  # stapo is grpo to the bit
    declared = {
        ("ict", "grpo", "pass@1"): ("baselines",),
        ("ict", "stapo", "pass@1"): ("baselines", "score"),
        ("random", "grpo", "pass@1"): ("baselines",),
        ("ict", "random", "pass@1"): ("score",),
    }
    comparisons = Comparisons(["grpo", "stapo"], declared, [], MARGIN, POWER)
    frame = contrast_frame(arms, {"m": ["grpo", "stapo", "ict", "random"]}, comparisons)
    rows = frame[frame["family"] == "declared"].set_index(["variant", "baseline"])
    for name in ("p", "p_equivalence"):
        p, adjusted = rows[name], rows[f"{name}_adjusted"]
        first, second = sorted([p["ict", "grpo"], p["random", "grpo"]])
        by_hand = {first: min(2 * first, 1), second: min(max(2 * first, second), 1)}
        for pair in (("ict", "grpo"), ("ict", "stapo"), ("random", "grpo")):
            assert adjusted[pair] == pytest.approx(by_hand[p[pair]])
        also = sorted([p["ict", "random"], p["ict", "stapo"]])  # a second question that declares ict - stapo counts it
        by_hand = {also[0]: min(2 * also[0], 1), also[1]: min(max(2 * also[0], also[1]), 1)}
        assert adjusted["ict", "random"] == pytest.approx(by_hand[p["ict", "random"]])
    assert rows["question"].tolist() == ["baselines"] * 3 + ["score"]
    assert set(frame.loc[frame["family"] != "declared", "question"]) == {""}


def test_the_declared_family_spans_the_models():
    runs = {"grpo": [0.3, 0.4, 0.2], "ict": [0.5, 0.4, 0.4]}
    arms = study(**runs)
    arms["pass@1"] |= {("l", v): arm(v, r, model="l") for v, r in runs.items()}
    declared = [("ict", "grpo", "pass@1")]
    one, both = average(contrasts(study(**runs), declared=declared)), average(contrasts(arms, declared=declared))
    assert one["p_adjusted"] == pytest.approx(one["p"]) and both["p_adjusted"] == pytest.approx(2 * one["p"])


GRPO = [0.40, 0.44, 0.42]


@pytest.mark.parametrize(
    ("ict", "verdict"),
    [
        ([0.50, 0.545, 0.519], "better"),
        ([0.30, 0.345, 0.319], "worse"),
        ([0.401, 0.439, 0.4205], "equivalent"),
        ([0.410, 0.4501, 0.4299], "better"),  # within the margin, too
        ([0.40, 0.60, 0.30], "none seen"),
        (GRPO, "identical"),
        ([g + 1e-15 for g in GRPO], "identical"),
        ([g + 0.1 for g in GRPO], "no spread"),  # equal differences: nothing says how they vary
        ([g - 1e-11 for g in GRPO], "no spread"),
    ],
)
def test_verdicts(ict, verdict):
    row = average(contrasts(study(grpo=GRPO, ict=ict)))
    assert row["verdict"] == verdict
    assert (row["p_adjusted"] < 0.05) == (verdict in ("better", "worse"))
    without = ["low", "high", "p", "p_t", "p_adjusted", "p_equivalence", "p_equivalence_adjusted", "detectable"]
    tested = verdict not in ("identical", "no spread")
    assert (row[[*without, "seeds_needed"]].notna() == tested).all()


@pytest.mark.parametrize("others", [0, 2])
def test_equivalence_is_corrected_as_a_difference_is(others):
    """Differences of 0.1, -0.1 and 1.2 points have the mean 0.4 and the SD 0.7; the others are beyond the margin."""
    runs = {"ict": [0.401, 0.439, 0.432], "a": [0.5, 0.3, 0.2], "b": [0.2, 0.3, 0.5]}
    names = list(runs)[: 1 + others]
    arms = study(grpo=GRPO, **{name: runs[name] for name in names})
    row = average(contrasts(arms, declared=[(name, "grpo", "pass@1") for name in names]))
    t = (2.0 - 0.4) / (0.7 / np.sqrt(3))
    p = 0.5 - t / (2 * np.sqrt(2 + t**2))  # beyond t, with 2 degrees of freedom: 0.029
    assert row["p_equivalence"] == pytest.approx(p)
    assert row["p_equivalence_adjusted"] == pytest.approx((1 + others) * p)
    assert row["verdict"] == ("none seen" if others else "equivalent")


@pytest.mark.parametrize(("seeds", "verdict"), [(9, "no spread"), (10, "better")])
def test_equal_differences_are_no_spread_unless_the_sign_flip_decides(seeds, verdict):
    theirs = [0.4 + 0.01 * seed for seed in range(seeds)]
    row = average(contrasts(study(grpo=theirs, ict=[value + 0.1 for value in theirs])))
    assert row["verdict"] == verdict and isnan(row["p_t"]) and row["p_sign_flip"] == 2 / 2**seeds


@pytest.mark.parametrize(("others", "verdict"), [(24, "better"), (25, "no spread")])
def test_equal_differences_are_no_spread_where_the_correction_undoes_them(others, verdict):
    """p is 2 / 2^10, times the number of declared contrasts: 0.0488 with 25, 0.0508 with 26."""
    theirs = [0.4 + 0.01 * seed for seed in range(10)]
    same = {f"c{i}": theirs for i in range(others)}
    arms = study(grpo=theirs, ict=[value + 0.1 for value in theirs], **same)
    row = average(contrasts(arms, declared=[(name, "grpo", "pass@1") for name in ("ict", *same)]))
    assert row["p_adjusted"] == pytest.approx((1 + others) * 2 / 2**10) and row["verdict"] == verdict


def test_one_seed_has_no_test():
    row = average(contrasts(study(grpo=[0.4], ict=[0.4])))
    assert row["verdict"] == "one seed" and row["seeds"] == 1
    for name in ("low", "two_way_low", "sd", "correlation", "p", "p_sign_flip", "detectable", "seeds_needed"):
        assert isnan(row[name])


@pytest.mark.parametrize(("seeds", "test"), [(9, "paired t"), (10, "sign-flip")])
def test_the_sign_flip_decides_from_ten_seeds(seeds, test):
    rng = np.random.default_rng(seeds)
    ours, theirs = rng.normal(0.5, 0.1, seeds), rng.normal(0.4, 0.1, seeds)
    row = average(contrasts(study(grpo=theirs, ict=ours)))
    assert row["test"] == test
    assert row["p_t"] == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    assert row["p_sign_flip"] == sign_flip(ours - theirs) and row["p_floor"] == 2 / 2**seeds
    assert row["p"] == row["p_sign_flip" if test == "sign-flip" else "p_t"] and row["p_t"] != row["p_sign_flip"]


def test_arms_are_compared_by_their_common_seeds():
    frame = contrasts(study(grpo=GRPO, ict=[*GRPO, 0.5]))
    assert set(frame["seeds"]) == {len(GRPO)} and set(frame["verdict"]) == {"identical"}
