"""The decision rules, against scipy and by hand; corrections in a family, by hand and by the chance of a wrong one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ict_core.evidence.claims import Claim, DifferenceTest, Measure
from ict_core.evidence.decide import Outcome, clearest, corrected, outcome, within
from ict_core.seeding import generator
from ict_core.statistics.arms import Counts
from ict_core.statistics.deciding import (
    BETTER,
    CONTRADICTED,
    EQUIVALENT,
    NOT_RESOLVED,
    SUPPORTED,
    WORSE,
    claim_verdict,
    finding,
)
from ict_core.statistics.intervals import over_runs
from ict_core.statistics.levels import base_variances
from ict_core.statistics.metrics import metric_values

MARGIN = 0.02


def difference(direction="higher", **more):
    return DifferenceTest(kind="difference", ours="a", against=("b",), metric="pass@4", direction=direction, **more)


def measure(**rule):
    return Measure(kind="measure", quantity="elbow", of="a", **rule)


def verdict(result, p_adjusted=None, p_equivalence_adjusted=None):
    p = result.p if p_adjusted is None else p_adjusted
    alike = result.p_equivalence if p_equivalence_adjusted is None else p_equivalence_adjusted
    return claim_verdict(result.predicted, finding(result.finding, result.p, p, alike))


def test_one_models_difference_is_the_paired_t_test():
    values = np.array([0.03, 0.05, 0.01])
    found = outcome(difference(), {"m": values}, MARGIN)
    assert found.p == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=1e-12)
    interval = stats.t.interval(0.95, 2, 0.03, values.std(ddof=1) / math.sqrt(3))
    assert (found.estimate, found.low, found.high) == pytest.approx((0.03, *interval), rel=1e-12)
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
    assert verdict(result, p_adjusted, p_equivalence_adjusted) == expected


def test_within_is_two_one_sided_tests_inside_and_one_beyond():
    values = np.array([0.4, 0.5, 0.6])

    def p(limit, alternative):
        return stats.ttest_1samp(values, limit, alternative=alternative).pvalue

    for low, high, expected, side in (
        (0.3, 0.8, max(p(0.3, "greater"), p(0.8, "less")), EQUIVALENT),
        (0.1, 0.2, p(0.2, "greater"), BETTER),
        (0.9, 1.0, p(0.9, "less"), WORSE),
    ):
        assert within(over_runs(values), low, high) == (pytest.approx(expected, rel=1e-10), side)


def test_a_claim_about_every_model_is_decided_by_the_weakest():
    strong, weak, wrong = np.array([0.10, 0.11, 0.12]), np.array([0.01, 0.02, 0.06]), np.array([-0.10, -0.11, -0.13])
    found = outcome(difference(every_model=True), {"s": strong, "w": weak}, MARGIN)
    assert found.estimate == pytest.approx(0.03) and claim_verdict(found.predicted, found.finding) == SUPPORTED
    assert found.p == pytest.approx(stats.ttest_1samp(weak, 0).pvalue)  # the largest p of the two
    found = outcome(difference(every_model=True), {"s": strong, "x": wrong}, MARGIN)
    assert claim_verdict(found.predicted, found.finding) == CONTRADICTED
    assert found.p == pytest.approx(2 * stats.ttest_1samp(wrong, 0).pvalue)


def test_the_least_precise_model_limits_a_claim_about_every_model():
    """Values at -2, -1, 0, 1, 2 times a step, of variance 2.5 steps squared; the weakest is the precise one."""
    places = np.arange(-2, 3)
    precise, wide = 0.03 + 0.001 * places, 0.035 + 0.02 * places
    found = outcome(difference(every_model=True), {"a": precise, "b": wide}, MARGIN)
    assert found.estimate == pytest.approx(0.03) and found.seeds == 5
    assert found.sd == pytest.approx(0.02 * math.sqrt(2.5))
    few = outcome(difference(every_model=True), {"a": 0.03 + 0.001 * places[1:4], "b": wide}, MARGIN)
    assert few.seeds == 3 and few.sd / math.sqrt(3) == pytest.approx(0.02 * math.sqrt(2.5 / 5))
    one = outcome(difference(every_model=True), {"a": precise, "b": wide[:1]}, MARGIN)
    assert one.seeds == 1 and math.isnan(one.p) and math.isnan(one.sd)


def test_models_that_differ_both_ways_are_not_equal():
    """Means of 6 and -6 points, which cancel: only models that each lie within the margin are equivalent."""
    steps = 0.001 * np.arange(-2, 3)
    apart, alike = {"a": 0.06 + steps, "b": steps - 0.06}, {"a": 0.004 + steps, "b": 2 * steps - 0.004}
    assert verdict(outcome(difference("equal"), apart, MARGIN)) == NOT_RESOLVED
    assert verdict(outcome(difference(), apart, MARGIN)) == NOT_RESOLVED
    found = outcome(difference("equal"), alike, MARGIN)
    assert verdict(found) == SUPPORTED and verdict(outcome(difference(), alike, MARGIN)) == CONTRADICTED
    assert found.p == pytest.approx(stats.ttest_1samp(alike["b"], -MARGIN, alternative="greater").pvalue)


def test_the_choice_of_the_strongest_baseline_is_paid_for_where_it_is_no_help():
    """A gain has to be over both; a loss may be to the one that was best by chance: p times 2, or 4 for two models."""
    values, plain = np.array([0.03, 0.05, 0.01]), difference()
    chosen = plain.model_copy(update={"against": ("b", "c"), "combine": "strongest"})
    for sign, times in ((1, 1), (-1, 2)):
        of_both = [outcome(test, {"m": sign * values}, MARGIN) for test in (chosen, plain)]
        assert of_both[0].p == pytest.approx(times * of_both[1].p)
    two = [outcome(test, {"m": -values, "n": -values[::-1] - 0.01}, MARGIN).p for test in (chosen, plain)]
    assert two[0] == pytest.approx(min(1, 4 * two[1]))
    small = [outcome(test, {"m": values / 100}, MARGIN).p_equivalence for test in (chosen, plain)]
    assert small[0] == pytest.approx(2 * small[1])


def test_an_error_that_all_runs_share_widens_the_interval():
    """Ten gains of 2 points with spread 0.1, over one base model whose sample has a standard error of 1 point."""
    values = 0.02 + 0.001 * np.array([-1, 1] * 5)
    own, shared = (outcome(difference(), {"m": values}, MARGIN, noise) for noise in (None, {"m": 1e-4}))
    assert own.p == pytest.approx(2 / 2**10)  # the sign-flip test
    se = math.sqrt(values.var(ddof=1) / 10 + 1e-4)
    assert shared.p == pytest.approx(2 * stats.t.sf(0.02 / se, 9))
    assert (shared.low, shared.high) == pytest.approx(stats.t.interval(0.95, 9, 0.02, se))
    of_two = outcome(difference(), {"m": values, "n": values + 0.01}, MARGIN, {"m": 1e-4, "n": 3e-4})
    assert of_two.sd**2 / 10 == pytest.approx(2 * values.var(ddof=1) / 10 / 4 + 4e-4 / 4)


@pytest.mark.slow
def test_runs_like_their_one_base_model_rarely_differ_from_it():
    """1,000 studies of eight runs and ten problems, all as good as the base: 45 % differ without its error."""
    rng, tens = generator(5, "one base model"), np.full((1, 10), 8)
    found = {True: 0, False: 0}
    for _ in range(1000):
        chances = rng.beta(1, 1, 10)
        base = Counts((0,), tens, rng.binomial(8, chances, (1, 10)))
        runs = metric_values("pass@4", tens, rng.binomial(8, chances, (8, 10))).mean(axis=1)
        gains = {"m": runs - metric_values("pass@4", tens, base.correct).mean()}
        variance = base_variances({("m", "base", "b"): base}, ["pass@4"], None)["m", "b", "pass@4"]
        for counted in found:
            found[counted] += outcome(difference(), gains, MARGIN, {"m": variance * counted}).p < 0.05
    assert found[True] < 70 and found[False] > 350


STEPS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


def test_the_clearest_gain_pays_for_the_search():
    """Gains of 6 points with a wide spread and of 5 with a narrow one: the second shows that some gain is real."""
    gains = {("m", "grpo", "a"): 0.06 + 0.05 * STEPS, ("m", "grpo", "b"): 0.05 + 0.001 * STEPS}
    found, place = clearest(gains, MARGIN)
    assert place == ("m", "grpo", "b") and found.searched == 2 and verdict(found) == SUPPORTED
    assert found.p == pytest.approx(2 * stats.ttest_1samp(gains["m", "grpo", "b"], 0).pvalue)
    half = stats.t.ppf(1 - 0.025 / 2, 4) * np.std(0.001 * STEPS, ddof=1) / math.sqrt(5)
    assert found.high - found.estimate == pytest.approx(half)


def test_all_have_to_be_losses_for_there_to_be_no_gain():
    """Losses of 0.5 points, clear, and of 1 point, which may be a gain of 3."""
    clear, wide = -0.005 + 0.001 * STEPS, -0.01 + 0.03 * STEPS
    found, place = clearest({("m", "grpo", "a"): clear, ("m", "grpo", "b"): wide}, MARGIN)
    assert place == ("m", "grpo", "b") and verdict(found) == NOT_RESOLVED
    assert found.p == pytest.approx(stats.ttest_1samp(wide, 0).pvalue)
    flips = {("m", "grpo", name): times * np.tile(clear, 3) for name, times in (("a", 2), ("b", 1), ("c", 3))}
    found, place = clearest(flips, MARGIN)  # of equal p, as no flip is as extreme, the largest
    assert place == ("m", "grpo", "b") and verdict(found) == CONTRADICTED


def test_one_seed_or_no_spread_has_no_test():
    for values in ([0.1], [0.1, 0.1, 0.1]):
        for rule in (difference(), difference("equal"), difference(every_model=True), measure(within=(0.0, 1.0))):
            none = outcome(rule, {"m": np.array(values)}, MARGIN)
            assert math.isnan(none.p) and math.isnan(none.p_equivalence)
            assert verdict(none) == NOT_RESOLVED


@pytest.mark.slow
@pytest.mark.parametrize("rule", [difference(), difference("equal"), measure(within=(-MARGIN, MARGIN))])
def test_a_true_null_at_its_edge_is_rejected_in_about_five_percent(rule):
    """1,500 studies of two models and three seeds; the tolerance is 3.3 standard errors of a share of 0.05.

    Models are equal only if each is, so that of two at the edge one would hide the other: the second has no difference.
    """
    rng = generator(5, "false positives of a claim")
    at_edge = 0.0 if rule.kind == "difference" and rule.direction == "higher" else MARGIN
    false = 0
    for _ in range(1500):
        a, b = rng.normal(at_edge, 0.015, (2, 3))
        found = outcome(rule, {"a": a, "b": (b - at_edge) / 10 if rule == difference("equal") else b}, MARGIN)
        false += found.p < 0.05 and (at_edge == 0 or claim_verdict(found.predicted, found.finding) == SUPPORTED)
    assert 0.01 < false / 1500 < 0.05 + 3.3 * math.sqrt(0.05 * 0.95 / 1500)


def claim(name, family="f", after=None):
    return Claim(id=name, family=family, after=after, statement="S.", source="here", test=difference())


def result(p, estimate=0.1, p_equivalence=None):
    """A claim's outcome, with one p for both questions unless another one is given."""
    return Outcome(estimate, p=p, p_equivalence=p if p_equivalence is None else p_equivalence, seeds=3, strata=1)


def of(*tested):
    return {name: correction.p for name, correction in corrected(tested).items()}


def equivalence(*tested):
    return {name: correction.p_equivalence for name, correction in corrected(tested).items()}


BOTH = pytest.mark.parametrize("correct", [of, equivalence])


@BOTH
def test_holm_by_hand_in_each_family_on_its_own(correct):
    found = correct(
        (claim("a"), result(0.01)),
        (claim("b"), result(0.04, 0.2)),
        (claim("c"), result(0.03, 0.3)),
        (claim("d", "g"), result(0.04)),
    )
    assert found == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.04})


def test_claims_of_the_same_runs_count_once():
    same = result(0.03)
    corrections = corrected([(claim("grpo"), same), (claim("stapo"), same), (claim("entropy"), result(0.02, 0.2))])
    assert [c.p for c in corrections.values()] == pytest.approx([0.04] * 3)
    assert [c.same for c in corrections.values()] == [None, "grpo", None]
    assert {c.alpha for c in corrections.values()} == {0.025}


def test_two_claims_without_any_difference_are_two_tests():
    none = result(1.0, 0.0)
    found = corrected([(claim("a"), result(0.02)), (claim("b"), none), (claim("c"), none)])
    assert found["a"].p == pytest.approx(0.06) and [c.same for c in found.values()] == [None] * 3


@BOTH
def test_tests_that_could_not_be_made_are_each_one_of_the_family(correct):
    found = correct((claim("a"), result(0.02)), (claim("b"), result(math.nan)), (claim("c"), result(math.nan)))
    assert found == pytest.approx({"a": 0.06, "b": math.nan, "c": math.nan}, nan_ok=True)


@BOTH
def test_a_claim_after_another_needs_that_one_too(correct):
    first, second, third = claim("a"), claim("b", after="a"), claim("c", after="b")
    ps = [(first, result(0.03)), (second, result(0.01, 0.2)), (third, result(0.2, 0.3))]
    assert correct(*ps) == pytest.approx({"a": 0.03, "b": 0.03, "c": 0.2})
    assert correct(*ps[1:]) == pytest.approx({"b": 0.01, "c": 0.2})  # the first was not run: it is passed over
    assert correct((first, result(math.nan)), *ps[1:])["b"] == 1.0  # it was run and decides nothing
    assert correct((first, result(0.3)), ps[2]) == pytest.approx({"a": 0.3, "c": 0.3})  # the second was not run


def test_equivalences_are_corrected_apart_from_differences():
    same = result(0.4, 0.0, 0.01)
    tested = [
        (claim("grpo"), same),
        (claim("stapo"), same),
        (claim("small-gain"), replace(same, p_equivalence=math.nan)),  # the same runs, of less than the margin
        (claim("entropy"), result(0.001, 0.2, 0.03)),
    ]
    found = equivalence(*tested)  # three tests, of which one could not be made
    expected = {"grpo": 0.03, "stapo": 0.03, "small-gain": math.nan, "entropy": 0.06}
    assert found == pytest.approx(expected, nan_ok=True)
    assert of(*tested)["entropy"] == pytest.approx(0.002)


@BOTH
def test_a_family_agrees_with_statsmodels(correct):
    p = generator(1, "families").random((3, 7)) ** 3  # few, as the oracle runs the garbage collector
    for study in p:
        tested = [(claim(f"c{i}"), result(x, i)) for i, x in enumerate(study)]
        np.testing.assert_allclose(list(correct(*tested).values()), multipletests(study, method="holm")[1], rtol=1e-12)


@BOTH
@pytest.mark.parametrize("order", ["holm", "in order"])
def test_a_family_of_true_nulls_finds_one_in_5_percent_of_studies_at_most(order, correct):
    """1,500 studies of four claims about the same six runs, whose t-tests hang together: no difference, or one margin.

    The margin is so wide that one of the two one-sided tests alone can err.
    """
    draw = generator(0, "families", order)
    values = draw.normal(0, 1, (1500, 6, 1)) + draw.normal(0, 1, (1500, 6, 4))
    side = "two-sided" if correct is of else "less"  # that the mean lies below the margin
    p = stats.ttest_1samp(values, 0, axis=1, alternative=side).pvalue
    claims = [claim(f"c{i}", after=f"c{i - 1}" if order == "in order" and i else None) for i in range(4)]
    studies = [[(c, result(x, x)) for c, x in zip(claims, study, strict=True)] for study in p]
    wrong = np.mean([min(correct(*study).values()) < 0.05 for study in studies])
    assert 0.015 < wrong < 0.05 + 3.3 * math.sqrt(0.05 * 0.95 / 1500)
