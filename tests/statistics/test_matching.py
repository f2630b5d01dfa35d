"""Matching tokens, by hand and against the definition written out token by token."""

from fractions import Fraction
from math import isnan

import numpy as np
import pytest
from scipy.stats import rankdata

from ict_core.statistics.matching import matched_difference


def by_token(values, kept, matched, groups):
    """Each kept token less the mean of the dropped ones of its decile, the kept ones weighed the same."""
    gaps = []
    for group in set(groups):
        rows = [i for i in range(len(values)) if groups[i] == group]
        ranks = rankdata([matched[i] for i in rows])
        decile = {
            i: int(10 * (Fraction(rank) - Fraction(1, 2)) / len(rows)) for i, rank in zip(rows, ranks, strict=True)
        }
        for i in rows:
            beside = [values[j] for j in rows if decile[j] == decile[i] and not kept[j]]
            if kept[i] and beside:
                gaps.append(values[i] - sum(beside) / len(beside))
    return sum(gaps) / len(gaps) if gaps else float("nan")


def test_by_hand():
    """Ranks 1.5, 1.5, 3.5, 3.5 of four tokens: deciles 2 and 7. The second group's token has none beside it."""
    values, kept = [0.1, 0.3, 0.5, 0.4, 9.0], [True, False, True, False, True]
    found = matched_difference(values, kept, [0.0, 0.0, 1.0, 1.0, 1.0], ["a", "a", "a", "a", "b"])
    assert found == pytest.approx((0.1 - 0.3 + 0.5 - 0.4) / 2)
    # three kept tokens of one decile weigh three times the one of another
    values, kept = [1.0, 2.0, 3.0, 0.0, 5.0, 1.0], [True, True, True, False, True, False]
    found = matched_difference(values, kept, [0, 0, 0, 0, 1, 1], [0] * 6)
    assert found == pytest.approx((3 * 2.0 + 4.0) / 4)


def test_what_only_follows_from_the_matched_quantity_is_gone():
    """Kept are mostly the low ones, and the value is the matched quantity itself: two levels, alike in either."""
    matched = np.repeat([0.0, 1.0], 50)
    kept = np.r_[np.arange(50) < 40, np.arange(50) < 10]
    assert matched[kept].mean() - matched[~kept].mean() == pytest.approx(-0.6)
    assert matched_difference(matched, kept, matched, np.zeros(100)) == 0


def test_the_definition_token_by_token():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 90))
        matched = rng.integers(0, 12, size) / 8 if seed % 2 else rng.random(size)  # with equal ones and without
        data = rng.normal(size=size), rng.random(size) < 0.3, matched, rng.integers(0, 3, size)
        assert matched_difference(*data) == pytest.approx(by_token(*data), rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("kept", [[True, True], [False, False], [True, False], []])
def test_without_tokens_of_both_kinds_in_a_stratum_there_is_no_value(kept):
    count = len(kept)
    assert isnan(matched_difference(np.ones(count), np.array(kept, bool), np.arange(count), np.zeros(count)))
