import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ict_core.statistics._schemas import VIEWS
from ict_core.statistics._views import Contrast, second_views
from ict_core.statistics.calibrated import stored
from ict_core.store.records import read_frame, write_frame

TESTS = ["sign-flip", "permutation", "wilcoxon"]
CONTRAST = Contrast("tiny", "ict-10", "grpo", "pass@4")
NAMES = [*TESTS, "welch", "crossed bootstrap", "probability of improvement", "interquartile mean"]


def arms(seeds=5, sizes=(40, 40, 30), gain=0.05, seed=0):
    rng = np.random.default_rng(seed)
    ease = [rng.random(size) for size in sizes]
    return [
        [np.clip(e + shift + rng.normal(0, 0.02, (seeds, 1)) + rng.normal(0, 0.1, (seeds, e.size)), 0, 1) for e in ease]
        for shift in (gain, 0.0)
    ]


def views_of(ours, theirs, seed=1, **options):
    rows = second_views(CONTRAST, ours, theirs, np.random.default_rng(seed), **options)
    return pd.DataFrame(rows).set_index("view")


def runs_of(arm):
    return np.mean([block.mean(axis=1) for block in arm], axis=0)


def test_rows_have_the_schema(tmp_path):
    rows = second_views(CONTRAST, *arms(), np.random.default_rng(1))
    write_frame(pd.DataFrame(rows), tmp_path / "views.parquet", VIEWS)
    frame = read_frame(tmp_path / "views.parquet", VIEWS)
    assert list(frame["view"]) == NAMES
    assert (frame[["model", "variant", "baseline", "metric"]] == ["tiny", "ict-10", "grpo", "pass@4"]).all(axis=None)


@pytest.mark.parametrize("seeds", [3, 5, 7])
def test_exact_tests_agree_with_scipy(seeds):
    ours, theirs = arms(seeds, gain=0.02)
    frame, a, b = views_of(ours, theirs, resamples=10), runs_of(ours), runs_of(theirs)

    def mean_difference(x, y, axis=-1):
        return x.mean(axis=axis) - y.mean(axis=axis)

    def by_scipy(kind):
        return stats.permutation_test((a, b), mean_difference, permutation_type=kind, n_resamples=np.inf).pvalue

    assert frame.loc["sign-flip", "p"] == pytest.approx(by_scipy("samples"))
    assert frame.loc["permutation", "p"] == pytest.approx(by_scipy("independent"))
    assert frame.loc["wilcoxon", "p"] == pytest.approx(stats.wilcoxon(a - b, method="exact").pvalue)
    splits = stats.binom.pmf(seeds, 2 * seeds, 0.5) * 4**seeds  # C(2n, n)
    assert list(frame.loc[TESTS, "p_floor"]) == pytest.approx([2 / 2**seeds, 2 / splits, 2 / 2**seeds])
    assert frame.loc[[*TESTS, "welch", "crossed bootstrap"], "estimate"].to_numpy() == pytest.approx((a - b).mean())
    assert frame.loc[TESTS, ["low", "high", "coverage"]].isna().all(axis=None)


def test_welch_is_scipys_over_runs():
    ours, theirs = arms()
    row = views_of(ours, theirs).loc["welch"]
    reference = stats.ttest_ind(runs_of(ours), runs_of(theirs), equal_var=False)
    limits = reference.confidence_interval()
    assert (row["low"], row["high"], row["p"]) == pytest.approx((limits.low, limits.high, reference.pvalue))


def test_a_clear_gain_shows_in_every_view():
    frame = views_of(*arms(gain=0.2))
    intervals = frame.loc[["welch", "crossed bootstrap", "interquartile mean"]]
    assert (intervals["low"] > 0.1).all() and (intervals["high"] < 0.3).all()
    assert (intervals["low"] < intervals["estimate"]).all() and (intervals["estimate"] < intervals["high"]).all()
    assert frame.loc["probability of improvement", "estimate"] == 1
    assert (frame.loc[TESTS, "p"] == frame.loc[TESTS, "p_floor"]).all()
    turned = views_of(*arms(gain=0.2)[::-1])
    assert turned.loc["welch", "high"] == pytest.approx(-frame.loc["welch", "low"])
    assert turned.loc["probability of improvement", "estimate"] == 0


def test_one_seed_has_differences_only():
    frame = views_of(*arms(seeds=1))
    assert list(frame.index) == NAMES and frame["estimate"].notna().all()
    assert frame[["low", "high", "p", "coverage"]].isna().all(axis=None)


def test_arms_that_are_the_same_runs():
    ours = arms()[0]
    frame = views_of(ours, ours)
    assert (frame.loc[TESTS, "p"] == 1).all() and (frame.drop("probability of improvement")["estimate"] == 0).all()
    assert frame.loc["crossed bootstrap", ["low", "high"]].isna().all()  # no difference ever seen: no spread known
    assert frame.loc["probability of improvement", "estimate"] == 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "seeds", "size", "read_at"),
    [
        ((40, 40, 40, 40, 30, 30, 30), 3, "mini average", 3),
        ((40, 40, 40, 40, 30, 30, 30), 4, "mini average", 3),
        ((500, 1319, 3153, 198, 30, 30, 30), 5, "seven benchmarks", 5),
        ((499,), 12, "30 problems", 10),
        ((1400,), 5, "1,319 problems", 5),
    ],
)
def test_coverage_is_the_calibrations_at_or_below(sizes, seeds, size, read_at):
    """Which row is read; whether its rate is right is for tests/calibration/test_calibration.py."""
    frame = views_of(*arms(seeds, sizes), resamples=5)
    table = stored().query("case == 'plain' and quantity == 'difference' and seeds == @read_at and size == @size")
    table = table[table["truth"] != "these problems"].set_index("method")["rate"]
    assert list(frame.loc[NAMES[3:], "coverage"]) == list(table[NAMES[3:]])


@pytest.mark.parametrize(("sizes", "seeds"), [((40, 40), 3), ((29,), 5), ((500,), 2)])
def test_coverage_of_a_study_smaller_than_any_calibrated_is_unknown(sizes, seeds):
    assert views_of(*arms(seeds, sizes), resamples=5)["coverage"].isna().all()


def test_only_the_generator_counts():
    ours, theirs = arms()
    frames = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        frames.append(views_of(ours, theirs))
    pd.testing.assert_frame_equal(*frames)
    assert views_of(ours, theirs, seed=2).loc["crossed bootstrap", "low"] != frames[0].loc["crossed bootstrap", "low"]


@pytest.mark.slow
def test_needs_no_torch():
    code = "import sys, ict_core.statistics._views, ict_core.calibration.measure; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("cut", ["seeds", "problems", "benchmarks", "all"])
def test_refuses_arms_that_do_not_fit(cut):
    ours, theirs = arms()
    theirs = {
        "seeds": [b[:4] for b in theirs],
        "problems": [theirs[0][:, :3], *theirs[1:]],
        "benchmarks": theirs[:2],
        "all": [],
    }[cut]
    with pytest.raises(ValueError, match="tiny: ict-10 against grpo: second views need the same seeds and problems"):
        views_of(ours if cut != "all" else [], theirs)
