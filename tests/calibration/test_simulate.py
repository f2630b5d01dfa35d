"""Simulated studies: what is drawn has the means, spreads and truths that the case states."""

import numpy as np
import pytest
from simulated_studies import (
    SIZES,
    Benchmark,
    Case,
    SimulatedArm,
    Size,
    batches,
    draw,
    intercepts,
    level_on_new_problems,
    run_effect_sd,
    shift_for,
)

PLAIN = Case("plain")
COLLAPSING = Case("collapsing", collapsing=0.1)
SPECIFIC = Case("specific", problem_effect_sd=0.75)
TWO = Size("two", (Benchmark(20, 0.2, 8), Benchmark(10, 0.6, 4)))
BY_SIZE = pytest.mark.parametrize("size", [SIZES[0], TWO], ids=lambda s: s.name)
BY_CASE = pytest.mark.parametrize("case", [PLAIN, COLLAPSING, SPECIFIC], ids=lambda c: c.name)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def level_by_drawing(size, case, arm, rng, number=400_000):
    """Mean of independent chances, one new run and one new problem each, and its standard error."""
    own = case.problem_effect_sd if arm.specific else 0.0
    spread = np.sqrt(case.difficulty_sd**2 + run_effect_sd(size, case) ** 2 + own**2)
    chances = []
    for mu in intercepts(size, case):
        x = mu + arm.shift + spread * rng.normal(size=number)
        chances.append(logistic(x - case.depth * (rng.random(number) < case.collapsing)))
    values = np.mean(chances, axis=0)
    return values.mean(), values.std() / np.sqrt(number)


@pytest.mark.parametrize("size", [*SIZES, TWO], ids=lambda s: s.name)
def test_the_benchmarks_have_the_means_stated(size):
    rng = np.random.default_rng(0)
    for mu, benchmark in zip(intercepts(size, PLAIN), size.benchmarks, strict=True):
        p = logistic(mu + PLAIN.difficulty_sd * rng.normal(size=200_000))
        assert p.mean() == pytest.approx(benchmark.mean, abs=5 * p.std() / np.sqrt(p.size))


@BY_CASE
@BY_SIZE
def test_truth_on_new_problems(size, case):
    arm = SimulatedArm(0.4, specific=True)
    mean, error = level_by_drawing(size, case, arm, np.random.default_rng(1))
    assert level_on_new_problems(size, case, arm) == pytest.approx(mean, abs=5 * error)


@BY_CASE
@BY_SIZE
def test_the_shift_gives_the_difference(size, case):
    shift = shift_for(0.02, size, case, True)
    levels = [level_on_new_problems(size, case, arm) for arm in (SimulatedArm(shift, True), SimulatedArm())]
    assert levels[0] - levels[1] == pytest.approx(0.02, abs=1e-9) and shift > 0


@BY_SIZE
def test_runs_vary_by_two_points(size):
    rng = np.random.default_rng(2)
    effects = rng.normal(0, run_effect_sd(size, PLAIN), 1000)
    z = PLAIN.difficulty_sd * rng.normal(size=4000)
    means = np.mean([logistic(mu + effects[:, None] + z).mean(axis=1) for mu in intercepts(size, PLAIN)], axis=0)
    assert means.std() == pytest.approx(0.02, rel=0.1)  # standard errors: 2.2 % by runs, about 2 % by problems


@BY_CASE
def test_truth_on_these_problems_and_its_mean(case):
    # so many runs that their mean over the drawn problems is the truth of the draw
    arms = (SimulatedArm(), SimulatedArm(0.5, specific=True))
    drawn = draw(np.random.default_rng(3), TWO, case, arms, 4000, 3)
    runs = np.mean([b.mean(axis=-1) for b in drawn.blocks], axis=0)  # (repetitions, arms, runs)
    error = runs.std(axis=-1) / np.sqrt(4000)
    assert (np.abs(runs.mean(axis=-1) - drawn.these) < 4.5 * error).all()
    assert np.ptp(drawn.these[:, 0]) > 10 * error.max()  # and it is another truth in every repetition
    drawn = draw(np.random.default_rng(4), TWO, case, arms, 1, 4000)
    error = drawn.these.std(axis=0) / np.sqrt(4000)
    assert (np.abs(drawn.these.mean(axis=0) - drawn.new) < 4.5 * error).all()


def test_scores_are_shares_of_the_samples():
    np.random.seed(1)  # noqa: NPY002 - must not matter
    drawn, again = (draw(np.random.default_rng(5), TWO, PLAIN, (SimulatedArm(),) * 2, 3, 7) for _ in range(2))
    assert [b.shape for b in drawn.blocks] == [(7, 2, 3, 20), (7, 2, 3, 10)]
    for block, same, benchmark in zip(drawn.blocks, again.blocks, TWO.benchmarks, strict=True):
        correct = block * benchmark.n
        assert (correct == correct.round()).all() and correct.min() >= 0 and correct.max() <= benchmark.n
        assert (block == same).all()
    assert drawn.these.shape == (7, 2) and drawn.new.shape == (2,)


def test_problem_effects_are_the_arms_own():
    arms = (SimulatedArm(), SimulatedArm(), SimulatedArm(0.0, True))
    drawn = draw(np.random.default_rng(6), SIZES[1], SPECIFIC, arms, 40, 5)
    problem = drawn.blocks[0].mean(axis=2)  # (repetitions, arms, problems)
    same, other = (problem[:, 1] - problem[:, 0]).std(), (problem[:, 2] - problem[:, 0]).std()
    assert other > 5 * same


@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_runs_with_one_seed_share_what_the_case_says(shared):
    case = Case("shared", shared=shared, run_sd=0.05)
    drawn = draw(np.random.default_rng(7), SIZES[1], case, (SimulatedArm(), SimulatedArm()), 3000, 1)
    runs = drawn.blocks[0].mean(axis=-1)[0]  # noise of the samples lowers the correlation a little
    assert np.corrcoef(runs)[0, 1] == pytest.approx(shared, abs=0.06)


def test_one_run_in_ten_collapses():
    drawn = draw(np.random.default_rng(8), SIZES[1], COLLAPSING, (SimulatedArm(),), 4000, 1)
    runs = drawn.blocks[0].mean(axis=-1)[0, 0]
    below = runs < runs.mean() - 0.15
    assert below.mean() == pytest.approx(0.1, abs=0.02)  # standard error 0.005
    assert runs[~below].std() < 0.03


def test_batches_hold_no_more_than_asked():
    parts = batches(SIZES[4], 3, 10, 1000, values=2_000_000)
    assert sum(parts) == 1000 and max(parts) * 3 * 10 * 5260 <= 2_000_000
    assert batches(SIZES[4], 15, 10, 3, values=10) == [1, 1, 1]
