"""The decision rules, against scipy and by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from ict_core.evidence import DifferenceTest, Measure
from ict_core.evidence._decide import found, largest, outcome, within
from ict_core.seeding import generator
from ict_core.statistics import BETTER, CONTRADICTED, EQUIVALENT, WORSE, claim_verdict, over_runs
from ict_core.statistics._deciding import NOT_RESOLVED, SUPPORTED

MARGIN = 0.02


def difference(direction="higher", **more):
    return DifferenceTest(kind="difference", ours="a", against=("b",), metric="pass@4", direction=direction, **more)


def measure(**rule):
    return Measure(kind="measure", quantity="elbow", of="a", **rule)


def test_one_models_difference_is_the_paired_t_test():
    values = np.array([0.03, 0.05, 0.01])
    found = outcome(difference(), {"m": values}, MARGIN)
    assert found.p == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=1e-12)
    assert found.estimate == pytest.approx(0.03) and claim_verdict(found.predicted, found.finding) == SUPPORTED
    interval = stats.t.interval(0.95, 2, 0.03, values.std(ddof=1) / math.sqrt(3))
    assert (found.low, found.high) == pytest.approx(interval, rel=1e-12)
    assert found.sd == pytest.approx(values.std(ddof=1))


def test_models_are_averaged_and_their_variances_added():
    a, b = np.array([0.01, 0.03, 0.05]), np.array([0.10, 0.12, 0.17])
    found = outcome(difference(), {"a": a, "b": b}, MARGIN)
    va, vb = a.var(ddof=1) / 3, b.var(ddof=1) / 3
    se, df = math.sqrt((va + vb) / 4), (va + vb) ** 2 / (va**2 / 2 + vb**2 / 2)
    assert found.estimate == pytest.approx((a.mean() + b.mean()) / 2)
    assert found.p == pytest.approx(2 * stats.t.sf(found.estimate / se, df), rel=1e-10)
    # equal means and spreads: as Welch's test of a against -b
    assert found.p == pytest.approx(stats.ttest_ind(a, -b, equal_var=False).pvalue, rel=1e-10)


@pytest.mark.parametrize(
    ("direction", "values", "p_adjusted", "p_equivalence_adjusted", "expected"),
    [
        ("higher", [0.30, 0.31, 0.32], 0.01, 0.9, SUPPORTED),
        ("higher", [-0.30, -0.31, -0.32], 0.01, 0.9, CONTRADICTED),
        ("lower", [-0.30, -0.31, -0.32], 0.01, 0.9, SUPPORTED),
        ("higher", [0.30, 0.31, 0.32], 0.06, 0.9, NOT_RESOLVED),
        ("higher", [0.0001, -0.0002, 0.0003], 0.9, 0.04, CONTRADICTED),  # surely within the margin
        ("higher", [0.0001, -0.0002, 0.0003], 0.9, 0.06, NOT_RESOLVED),  # before the correction alone
        ("equal", [0.0001, -0.0002, 0.0003], 0.001, math.nan, SUPPORTED),
        ("equal", [0.30, 0.31, 0.32], 0.001, math.nan, CONTRADICTED),
        ("equal", [0.05, -0.04, 0.01], 0.4, math.nan, NOT_RESOLVED),
    ],
)
def test_verdicts_of_differences(direction, values, p_adjusted, p_equivalence_adjusted, expected):
    result = outcome(difference(direction), {"m": np.array(values)}, MARGIN)
    assert claim_verdict(result.predicted, found(result, p_adjusted, p_equivalence_adjusted)) == expected


def test_within_is_two_one_sided_tests_inside_and_one_beyond():
    values = np.array([0.4, 0.5, 0.6])
    found = over_runs(values)
    inside = max(
        stats.ttest_1samp(values, 0.3, alternative="greater").pvalue,
        stats.ttest_1samp(values, 0.8, alternative="less").pvalue,
    )
    assert within(found, 0.3, 0.8) == (pytest.approx(inside, rel=1e-10), EQUIVALENT)
    beyond = stats.ttest_1samp(values, 0.2, alternative="greater").pvalue
    assert within(found, 0.1, 0.2) == (pytest.approx(beyond, rel=1e-10), BETTER)
    below = stats.ttest_1samp(values, 0.9, alternative="less").pvalue
    assert within(found, 0.9, 1.0) == (pytest.approx(below, rel=1e-10), WORSE)


def test_a_claim_about_every_model_is_decided_by_the_weakest():
    strong, weak, wrong = np.array([0.10, 0.11, 0.12]), np.array([0.01, 0.02, 0.06]), np.array([-0.10, -0.11, -0.13])
    found = outcome(difference(every_model=True), {"s": strong, "w": weak}, MARGIN)
    assert found.estimate == pytest.approx(0.03) and claim_verdict(found.predicted, found.finding) == SUPPORTED
    assert found.p == pytest.approx(stats.ttest_1samp(weak, 0).pvalue)  # the largest p of the two
    found = outcome(difference(every_model=True), {"s": strong, "x": wrong}, MARGIN)
    assert claim_verdict(found.predicted, found.finding) == CONTRADICTED
    assert found.p == pytest.approx(2 * stats.ttest_1samp(wrong, 0).pvalue)


def test_the_largest_gain_pays_for_the_search():
    gains = {("m", "grpo", f"b{i}"): np.array([0.01, 0.02, 0.03]) * i for i in range(1, 8)}
    found, place = largest(gains, MARGIN)
    assert place == "m, b7, over grpo" and found.searched == 7
    assert found.p == pytest.approx(min(1, 7 * stats.ttest_1samp([0.07, 0.14, 0.21], 0).pvalue))
    half = stats.t.ppf(1 - 0.025 / 7, 2) * 0.07 / math.sqrt(3)
    assert found.high - found.estimate == pytest.approx(half)


def test_one_seed_or_no_spread_has_no_test():
    for values in ([0.1], [0.1, 0.1, 0.1]):
        for rule in (difference(), difference("equal"), difference(every_model=True), measure(within=(0.0, 1.0))):
            none = outcome(rule, {"m": np.array(values)}, MARGIN)
            assert math.isnan(none.p) and math.isnan(none.p_equivalence)
            assert claim_verdict(none.predicted, found(none, none.p, none.p_equivalence)) == NOT_RESOLVED


@pytest.mark.slow
@pytest.mark.parametrize("rule", [difference(), difference("equal"), measure(within=(-MARGIN, MARGIN))])
def test_a_true_null_at_its_edge_is_rejected_in_about_five_percent(rule):
    """4,000 studies of two models and three seeds; the tolerance is 3.3 standard errors of a share of 0.05."""
    rng = generator(5, "false positives of a claim")
    at_edge = 0.0 if rule.kind == "difference" and rule.direction == "higher" else MARGIN
    false = 0
    for _ in range(4000):
        found = outcome(rule, {m: rng.normal(at_edge, 0.015, 3) for m in "ab"}, MARGIN)
        false += found.p < 0.05 and (at_edge == 0 or claim_verdict(found.predicted, found.finding) == SUPPORTED)
    assert false / 4000 < 0.05 + 3.3 * math.sqrt(0.05 * 0.95 / 4000)
    assert false / 4000 > 0.01
