import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.errors import UserError
from ict_core.statistics.elbow import elbow, mean_sorted_curve

falling = st.lists(st.integers(0, 1000), min_size=3, max_size=60).map(lambda s: sorted(s, reverse=True))


def test_the_elbow_of_a_hand_computed_curve():
    # ranks 0, 1/4, ... and scores 1, 0.2, 0.1, 0.05, 0: below the chord 0, 0.55, 0.4, 0.2, 0
    assert elbow([10.0, 2.0, 1.0, 0.5, 0.0]) == 2 / 5


def test_the_elbow_is_the_token_where_an_l_bends():
    assert elbow([1.0] * 10 + [0.0] * 90) == pytest.approx(0.11)
    assert elbow(np.exp(-np.arange(1000) / 50)) == pytest.approx(0.15, abs=0.005)  # slope -1: x = tau ln(1 / tau)


@pytest.mark.parametrize("scores", [[], [2.0, 1.0], [1.0] * 8, np.linspace(3, 1, 50), [4.0, 4.0, 4.0, 0.0]])
def test_short_level_straight_and_bulging_curves_have_no_elbow(scores):
    assert math.isnan(elbow(scores))


@pytest.mark.parametrize("scores", [[1.0, 2.0, 0.0], [3.0, math.nan, 1.0], [math.inf, 1.0, 0.0], [[2.0, 1.0]]])
def test_scores_that_rise_or_are_not_finite_are_refused(scores):
    with pytest.raises(ValueError, match="elbow"):
        elbow(scores)


@given(falling)
def test_the_elbow_is_furthest_from_the_chord_by_plane_geometry(scores):
    where = elbow(scores)
    ends = [(Fraction(0), Fraction(scores[0])), (Fraction(len(scores) - 1), Fraction(scores[-1]))]
    (x0, y0), (x1, y1) = ends
    area = [(x1 - x0) * (y0 - s) - (x0 - i) * (y1 - y0) for i, s in enumerate(scores)]  # > 0 below the chord
    if max(area) <= 0:
        assert math.isnan(where)
    else:
        assert area[round(where * len(scores)) - 1] == max(area)


@given(falling, st.integers(-6, 6), st.integers(-500, 500))
def test_scale_and_shift_move_nothing(scores, power, shift):
    changed = elbow((np.array(scores) + shift) * 2.0**power)
    assert changed == elbow(scores) or math.isnan(changed) and math.isnan(elbow(scores))


def test_the_mean_curve_of_two_sequences_by_hand():
    scores, sequences = [1.0, 8.0, 3.0, 2.0, 6.0, 4.0], ["a", "b", "a", "b", "b", "b"]
    # a: 3, 1 over two tokens; b: 8, 6, 4, 2 over four
    assert mean_sorted_curve(scores, sequences, points=4).tolist() == [5.5, 4.5, 2.5, 1.5]


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=37), min_size=1, max_size=6), st.integers(1, 100))
def test_the_mean_curve_is_the_score_that_a_rule_keeps_last(sequences, points):
    tokens = [(s, i) for i, sequence in enumerate(sequences) for s in sequence]
    curve = mean_sorted_curve([s for s, _ in tokens], [i for _, i in tokens], points)
    for i, value in enumerate(curve):
        last = [sorted(s, reverse=True)[math.ceil(Fraction(i + 1, points) * len(s)) - 1] for s in sequences]
        assert value == pytest.approx(sum(last) / len(last))
    assert (np.diff(curve) <= 0).all()


@pytest.mark.parametrize(("scores", "sequences"), [([], []), ([1.0], [1, 2]), ([[1.0]], [[1]])])
def test_a_curve_of_nothing_or_of_other_shapes_is_refused(scores, sequences):
    with pytest.raises(ValueError, match="one score a token"):
        mean_sorted_curve(scores, sequences)


def test_a_score_that_is_not_finite_is_told():
    with pytest.raises(UserError, match="finite scores"):
        mean_sorted_curve([1.0, math.nan], [1, 1])
