"""Corrections within a family of claims, by hand; and the chance of a wrong finding in it, by simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ict_core.evidence import DifferenceTest
from ict_core.evidence._claims import Claim
from ict_core.evidence._decide import no_value
from ict_core.evidence._families import corrected
from ict_core.seeding import generator

TEST = DifferenceTest(kind="difference", ours="a", against=("b",), metric="pass@4", direction="higher")


def claim(name, family="f", after=None):
    return Claim(id=name, family=family, after=after, statement="S.", source="here", test=TEST)


def result(p, estimate=0.1, p_equivalence=math.nan):
    return replace(no_value(3, 1), p=p, estimate=estimate, p_equivalence=p_equivalence)


def of(*tested):
    return {name: correction.p for name, correction in corrected(tested).items()}


def equivalence(*tested):
    return {name: correction.p_equivalence for name, correction in corrected(tested).items()}


def test_holm_by_hand_in_each_family_on_its_own():
    found = of(
        (claim("a"), result(0.01)),
        (claim("b"), result(0.04, 0.2)),
        (claim("c"), result(0.03, 0.3)),
        (claim("d", "g"), result(0.04)),
    )
    assert found == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.04})


def test_claims_of_the_same_runs_count_once():
    same = result(0.03)
    corrections = corrected([(claim("grpo"), same), (claim("stapo"), same), (claim("entropy"), result(0.02, 0.2))])
    assert {name: c.p for name, c in corrections.items()} == pytest.approx(
        {"grpo": 0.04, "stapo": 0.04, "entropy": 0.04}
    )
    assert [c.same for c in corrections.values()] == [None, "grpo", None]
    assert {c.alpha for c in corrections.values()} == {0.025}


def test_tests_that_could_not_be_made_are_each_one_of_the_family():
    found = of((claim("a"), result(0.02)), (claim("b"), result(math.nan)), (claim("c"), result(math.nan)))
    assert found["a"] == pytest.approx(0.06) and math.isnan(found["b"]) and math.isnan(found["c"])


def test_a_claim_after_another_needs_that_one_too():
    first, second, third = claim("a"), claim("b", after="a"), claim("c", after="b")
    ps = [(first, result(0.03)), (second, result(0.01, 0.2)), (third, result(0.2, 0.3))]
    assert of(*ps) == pytest.approx({"a": 0.03, "b": 0.03, "c": 0.2})
    assert of(*ps[1:]) == pytest.approx({"b": 0.01, "c": 0.2})  # the first was not run: it is passed over
    assert of((first, result(math.nan)), *ps[1:])["b"] == 1.0  # it was run and decides nothing


def test_equivalences_are_corrected_as_differences_are_and_apart_from_them():
    same = result(0.4, 0.0, 0.01)
    tested = [
        (claim("grpo"), same),
        (claim("stapo"), same),
        (claim("small-gain"), replace(same, p_equivalence=math.nan)),  # the same runs, of less than the margin
        (claim("entropy"), result(0.001, 0.2, 0.03)),
        (claim("other", "g"), result(0.4, 0.3, 0.03)),
    ]
    found = equivalence(*tested)  # three tests of f, of which one could not be made
    assert math.isnan(found.pop("small-gain"))
    assert found == pytest.approx({"grpo": 0.03, "stapo": 0.03, "entropy": 0.06, "other": 0.03})
    assert of(*tested)["entropy"] == pytest.approx(0.002)


def test_an_equivalence_after_another_claim_needs_that_one_s():
    first, second, third = claim("a"), claim("b", after="a"), claim("c", after="b")
    tested = [(first, result(0.9, 0.0, 0.03)), (second, result(0.9, 0.1, 0.01)), (third, result(0.9, 0.2, 0.2))]
    assert equivalence(*tested) == pytest.approx({"a": 0.03, "b": 0.03, "c": 0.2})
    assert equivalence(*tested[1:]) == pytest.approx({"b": 0.01, "c": 0.2})
    assert equivalence((first, result(0.001, 0.3)), *tested[1:])["b"] == 1.0  # it lies beyond the margin


@pytest.mark.parametrize("correct", [of, equivalence])
def test_a_family_agrees_with_statsmodels(correct):
    p = generator(1, "families").random((20, 7)) ** 3
    for study in p:
        tested = [(claim(f"c{i}"), result(x, i, x)) for i, x in enumerate(study)]
        np.testing.assert_allclose(list(correct(*tested).values()), multipletests(study, method="holm")[1], rtol=1e-12)


@pytest.mark.parametrize("correct", [of, equivalence])
@pytest.mark.parametrize("order", ["holm", "in order"])
def test_a_family_of_true_nulls_finds_one_in_5_percent_of_studies_at_most(order, correct):
    """4,000 studies of four claims about the same six runs, whose t-tests hang together: no difference, or one margin.

    The margin is so wide that one of the two one-sided tests alone can err.
    """
    draw = generator(0, "families", order)
    values = draw.normal(0, 1, (4000, 6, 1)) + draw.normal(0, 1, (4000, 6, 4))
    if correct is of:
        p = stats.ttest_1samp(values, 0, axis=1).pvalue
    else:
        p = stats.ttest_1samp(values, 0, axis=1, alternative="less").pvalue  # that the mean lies below the margin
    claims = [claim(f"c{i}", after=f"c{i - 1}" if order == "in order" and i else None) for i in range(4)]
    wrong = np.mean(
        [
            min(correct(*((c, result(x, x, x)) for c, x in zip(claims, study, strict=True))).values()) < 0.05
            for study in p
        ]
    )
    assert 0.02 < wrong < 0.058
