"""The ratio of two means of paired runs: Fieller's limits against the paired t-test that they invert, and coverage."""

import numpy as np
import pytest
from fieller import inverted

from ict_core.statistics.intervals import ratio_of_means

OURS = np.array([0.28, 0.31, 0.25, 0.30, 0.27, 0.33])
THEIRS = np.array([0.40, 0.44, 0.37, 0.41, 0.42, 0.45])


@pytest.mark.parametrize("ours", [OURS, -OURS], ids=["gains", "loses"])
def test_the_limits_are_the_ratios_that_a_paired_t_test_does_not_refuse(ours):
    found = ratio_of_means(ours, THEIRS)
    assert abs(found.mean) == pytest.approx(1.74 / 2.49) and found.df == 5
    assert (found.low, found.high) == pytest.approx(inverted(ours, THEIRS), rel=1e-9)
    residuals = ours - found.mean * THEIRS  # of the delta method
    assert found.se == pytest.approx(residuals.std(ddof=1) / np.sqrt(6) / THEIRS.mean())


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (OURS, THEIRS - THEIRS.mean() + 0.01),  # the gain below is not told from 0
        (OURS[:1], THEIRS[:1]),
        (0.5 * THEIRS, THEIRS),  # nothing varies but the gain itself
        (OURS, np.zeros(6)),
    ],
)
def test_a_ratio_without_a_bounded_interval_has_no_limits(ours, theirs):
    found = ratio_of_means(ours, theirs)
    assert np.isnan(found.low) and np.isnan(found.high)
    assert np.isnan(found.mean) == (not theirs.any())


def test_values_that_are_not_paired_are_refused():
    for bad in (OURS[:5], np.full(6, np.nan), OURS[:, None]):
        with pytest.raises(ValueError, match="a finite value of both"):
            ratio_of_means(bad, THEIRS)


def test_the_interval_covers_the_true_ratio_in_95_of_100_studies_of_six_seeds():
    """Gains of 40 ± 8 points of which 0.7 ± noise is kept: the spread between seeds of the pilots."""
    rng, studies, inside = np.random.default_rng(5), 1000, 0
    for _ in range(studies):
        gain = rng.normal(0.40, 0.08, 6)
        found = ratio_of_means(0.7 * gain + rng.normal(0, 0.06, 6), gain)
        inside += bool(found.low <= 0.7 <= found.high)
    assert 0.93 < inside / studies < 0.97
