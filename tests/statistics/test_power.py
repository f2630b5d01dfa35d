from math import ceil, inf, isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from statsmodels.stats.power import TTestPower
from student_t import critical_t

from ict_core.errors import UserError
from ict_core.statistics.deciding import detectable, power, seeds_needed


def power_by_integral(effect, sd, seeds, alpha, strata):
    """P(|Z + d| > critical chi / sqrt(df)), integrated over the distribution of the sample variance."""
    df, shift = strata * (seeds - 1), effect / sd * sqrt(seeds)

    def given_variance(u):
        edge = critical_t(1 - alpha, df) * sqrt(stats.chi2.ppf(u, df) / df)
        return stats.norm.sf(edge - shift) + stats.norm.cdf(-edge - shift)

    return integrate.quad(given_variance, 0, 1, limit=200)[0]


def test_published_values():
    # Cohen's d = 0.5 in pairs at 5 % two-sided needs 34 pairs for 80 %, d = 0.8 needs 15 (G*Power 3.1)
    assert seeds_needed([0.5, 0.8], 1, 0.8).tolist() == [34, 15]
    assert power(0.5, 1, 34) == pytest.approx(0.807778, abs=1e-6)
    assert power(0, 1, [2, 3, 10]) == pytest.approx([0.05] * 3)  # without any difference it is alpha


@settings(max_examples=40)
@given(st.floats(0.01, 3), st.integers(2, 40), st.sampled_from([0.01, 0.05, 0.1]))
def test_agrees_with_statsmodels(effect, seeds, alpha):
    oracle = TTestPower().power(effect, seeds, alpha, alternative="two-sided")
    if not isnan(oracle):  # it is where the wrong-sided tail vanishes
        assert power(0.02 * effect, 0.02, seeds, alpha) == pytest.approx(oracle, rel=1e-7)


@pytest.mark.parametrize(
    "case", [(1, 1, 2, 0.05, 1), (20, 1, 5, 0.05, 1), (0.4, 0.5, 3, 0.05, 3), (90, 1, 2, 0.001, 1)]
)
def test_agrees_with_the_integral(case):
    effect, sd, seeds, alpha, strata = case
    assert power(effect, sd, seeds, alpha, strata) == pytest.approx(power_by_integral(*case), rel=1e-6)


@settings(max_examples=40)
@given(st.integers(2, 30), st.floats(0.1, 0.99), st.integers(1, 4), st.floats(1e-4, 10))
def test_what_is_detectable_is_detected_with_the_power(seeds, wanted, strata, sd):
    least = float(detectable(sd, seeds, wanted, strata=strata))
    assert power(least, sd, seeds, strata=strata) == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=40)
@given(st.floats(0.05, 20), st.floats(0.1, 0.99), st.integers(1, 4))
def test_the_seeds_needed_suffice_and_one_fewer_do_not(effect, wanted, strata):
    needed = float(seeds_needed(effect, 1, wanted, strata=strata))
    assert power(effect, 1, needed, strata=strata) >= wanted
    if needed > 2:
        assert power(effect, 1, needed - 1, strata=strata) < wanted


def test_out_of_reach_is_infinity():
    z = stats.norm.ppf([0.975, 0.8])
    at_least = (z.sum() / 0.03) ** 2 + z[0] ** 2 / 2  # 8722.9, by the normal approximation and its correction
    assert seeds_needed([0.0, 0.02, 0.03, -0.03], 1, 0.8).tolist() == [inf, inf, ceil(at_least), ceil(at_least)]
    assert power(0.02, 1, 10_000) < 0.8


def test_without_a_spread_there_is_no_answer():
    assert np.isnan(power(0.1, [0, np.nan], 3)).all()
    assert np.isnan(detectable([0, np.nan], 3, 0.8)).all() and isnan(detectable(0.1, 1, 0.8))
    found = seeds_needed(0.02, [0, np.nan, 0.02], 0.8)
    assert np.isnan(found[:2]).all() and found[2] == 10  # (1.960 + 0.842)^2 + 1.960^2 / 2 = 9.8


def test_where_the_sign_flip_test_decides_its_flips_must_suffice_for_the_level():
    # 2 / 2^10 is above 0.05 / 30, 2 / 2^11 and the t-test's level of nine pairs are not
    assert np.isinf(detectable([0.01, 50], 10, 0.8, 0.05 / 30)).all() and np.isnan(detectable(0, 10, 0.8, 0.05 / 30))
    assert np.isfinite([detectable(1, seeds, 0.8, 0.05 / 30) for seeds in (9, 11)]).all()
    assert np.isfinite(detectable(1, 10, 0.8, 0.05 / 30, strata=2))  # 2 / 2^20
    sizes = [1.8, 2, 9]
    by_t = [next(n for n in range(2, 99) if power(size, 1, n, 0.05 / 30) >= 0.8) for size in sizes]
    assert by_t == [10, 9, 4]
    assert seeds_needed(sizes, 1, 0.8, 0.05 / 30).tolist() == [11, 9, 4]
    assert seeds_needed(1, 1, 0.8, 1e-6) == inf  # no number of drawn flips gives so small a p


def test_a_power_out_of_range_is_refused():
    for function in (detectable, seeds_needed):
        for wanted in (0.05, 1.0):
            with pytest.raises(UserError, match=f"power {wanted}"):
                function(1, 3, wanted)
