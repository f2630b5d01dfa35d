import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ict_core.errors import UserError
from ict_core.statistics.metrics import metric_values, metrics_of, most_missing, samples_needed, sampling_variance


def test_by_hand():
    # n = 8: c = 2 has pass@1 1/4 and pass@4 1 - C(6,4)/C(8,4) = 1 - 15/70; total is their mean
    assert metric_values("pass@1", 8, [0, 2, 8]) == pytest.approx([0, 0.25, 1])
    assert metric_values("pass@4", 8, [0, 2, 8]) == pytest.approx([0, 55 / 70, 1])
    assert metric_values("total", 8, [0, 2, 8]) == pytest.approx([0, (0.25 + 55 / 70) / 2, 1])
    assert [samples_needed(metric) for metric in ("pass@1", "pass@16", "total")] == [1, 16, 4]


@pytest.mark.parametrize(
    ("sampled", "metrics"),
    [
        ([0, 8], ["pass@1"]),
        ([9, 3], ["pass@1", "pass@2"]),
        ([4], ["pass@1", "pass@2", "pass@4", "total"]),
        ([16, 32], ["pass@1", "pass@2", "pass@4", "pass@8", "pass@16", "total"]),
    ],
)
def test_the_fewest_samples_drawn_say_which_metrics_there_are(sampled, metrics):
    assert metrics_of(pd.DataFrame({"sampled": sampled, "n": 1})) == metrics  # however few could be graded


def test_of_fewer_graded_samples_than_k_pass_at_n_stands_in_by_hand():
    assert metric_values("pass@4", [3, 2, 1, 3], [1, 1, 0, 0]) == pytest.approx([1, 1, 0, 0])
    # n = 15 of 16: pass@8 of 1 right is 8/15 as ever, pass@16 is pass@15
    assert metric_values("pass@8", 15, 1) == pytest.approx(8 / 15) and metric_values("pass@16", 15, 1) == 1
    assert metric_values("total", [3, 8], [1, 2]) == pytest.approx([(1 / 3 + 1) / 2, (1 / 4 + 55 / 70) / 2])
    # the most that pass@1 lies below pass@2 is q - q^2 at q = 1/2; of total, the half of that of pass@4
    assert most_missing("pass@2", [1, 2, 3]) == pytest.approx([1 / 4, 0, 0])
    assert most_missing("total", 3) == pytest.approx(most_missing("pass@4", 3) / 2)
    assert most_missing("pass@1", [1, 16]).tolist() == [0, 0]


@given(st.sampled_from(["pass@2", "pass@4", "pass@16", "total"]), st.integers(1, 17))
def test_what_stands_in_is_too_low_by_no_more_than_is_said_and_by_that_somewhere(metric, n):
    """Against the metric's exact expectation over all outcomes of n draws, on a grid of chances."""
    right = np.linspace(0, 1, 2001)
    outcomes = stats.binom.pmf(np.arange(n + 1)[:, None], n, right)
    found = outcomes.T @ metric_values(metric, n, np.arange(n + 1))
    ks = {"total": (1, 4)}.get(metric) or (int(metric[5:]),)
    missing = np.mean([1 - (1 - right) ** k for k in ks], axis=0) - found
    assert missing.min() > -1e-12 and missing.max() <= most_missing(metric, n) + 1e-12
    assert missing.max() == pytest.approx(most_missing(metric, n), abs=1e-5)


@pytest.mark.parametrize(("metric", "n"), [("pass@1", 8), ("pass@4", 8), ("pass@4", 4), ("total", 8), ("pass@1", 2)])
def test_the_variance_of_a_sample_is_that_of_other_samples_or_above_it(metric, n):
    """Of all samples of n answers, with a chance q of a right one: pass@1's variance is unbiased, others' too large."""
    right = np.arange(n + 1)
    values, estimates = metric_values(metric, n, right), sampling_variance(metric, n, right)
    for q in (0.05, 0.3, 0.5, 0.9):
        chance = stats.binom.pmf(right, n, q)
        variance = chance @ values**2 - (chance @ values) ** 2
        assert chance @ estimates >= variance - 1e-12
        if metric == "pass@1":
            assert chance @ estimates == pytest.approx(q * (1 - q) / n) == pytest.approx(variance)
        elif n == 8 and q < 0.9:
            assert chance @ estimates < 2 * variance
    drawn = np.array([1, 1, 0, 0, 0, 0, 0, 0])[:n]
    left = [float(metric_values(metric, n - 1, drawn.sum() - out)) for out in drawn]
    by_jackknife = 0.25 if n == 4 else (n - 1) * np.var(left)
    assert estimates[drawn.sum()] == pytest.approx(by_jackknife)
    assert sampling_variance("pass@1", [1, 1], [0, 1]).tolist() == [0.25, 0.25]


@pytest.mark.parametrize("name", ["pass@0", "pass@1.5", "pass@01", "maj@4", "pass@4 "])
def test_an_unknown_metric_is_named(name):
    with pytest.raises(UserError, match=f"metric '{name}': unknown"):
        metric_values(name, 8, 4)
