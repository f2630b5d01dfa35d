import numpy as np
import pandas as pd
import pytest
import synthetic

from ict_core.errors import UserError
from ict_core.statistics._arms import count_matrices


def frame(rows):
    return pd.DataFrame(rows, columns=["model", "variant", "seed", "benchmark", "problem", "n", "correct"])


SCORES = frame(
    [
        ("m", "grpo", 2, "a", "y", 8, 1),
        ("m", "grpo", 2, "a", "x", 8, 2),
        ("m", "grpo", 1, "a", "x", 8, 3),
        ("m", "grpo", 1, "a", "y", 7, 4),
        ("m", "ict", 1, "a", "x", 8, 5),
        ("m", "ict", 1, "a", "y", 8, 6),
        ("l", "ict", 1, "b", "x", 8, 7),
    ]
)


def test_by_hand():
    found = count_matrices(SCORES)
    assert list(found) == [("m", "grpo", "a"), ("m", "ict", "a"), ("l", "ict", "b")]
    grpo = found["m", "grpo", "a"]
    assert grpo.seeds == (1, 2) and grpo.problems == ("y", "x")
    assert grpo.correct.tolist() == [[4, 3], [1, 2]] and grpo.n.tolist() == [[7, 8], [8, 8]]
    assert found["m", "ict", "a"].correct.tolist() == [[6, 5]]
    assert found["l", "ict", "b"].problems == ("x",)


def test_every_count_lands_in_its_place():
    scores = synthetic.scores(models=["tiny"], variants=["grpo", "ict-10"], seeds=(1, 2))
    shuffled = scores.sample(frac=1, random_state=1)
    cell = scores.set_index(["variant", "seed", "benchmark", "problem"])["correct"]
    found = count_matrices(shuffled)
    assert len(found) == 3 * 7 and sum(m.correct.size for m in found.values()) == len(scores)
    for (_, variant, benchmark), matrix in found.items():
        for i, j in np.ndindex(matrix.correct.shape):
            assert matrix.correct[i, j] == cell[variant, matrix.seeds[i], benchmark, matrix.problems[j]]


def test_the_order_of_rows_only_orders_the_problems():
    found, turned = count_matrices(SCORES), count_matrices(SCORES.iloc[::-1])
    assert found.keys() == turned.keys()
    for key, matrix in found.items():
        order = [turned[key].problems.index(problem) for problem in matrix.problems]
        assert turned[key].seeds == matrix.seeds and np.array_equal(turned[key].correct[:, order], matrix.correct)


def test_a_missing_problem_is_named():
    with pytest.raises(UserError, match="m/grpo/seed-1 lacks problem x of a, which"):
        count_matrices(SCORES.drop(2))
    with pytest.raises(UserError, match="m/ict/seed-1 lacks problem y of a, which"):
        count_matrices(SCORES.drop(5))


def test_a_problem_twice_is_named():
    with pytest.raises(UserError, match="m/ict/seed-1 has problem y of a more than once"):
        count_matrices(pd.concat([SCORES, SCORES.iloc[[5]]]))


def test_no_scores_are_refused():
    with pytest.raises(UserError, match="no rows"):
        count_matrices(SCORES.iloc[:0])
