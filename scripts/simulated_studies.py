"""Scores of training runs drawn from a known hierarchy, and the true values that intervals should cover.

The chance that run r of method m solves problem j is the logistic function of

    mean of the benchmark + difficulty[j] + effect of m + effect of m on j + effect of r,      all in logits,

and the number of correct answers is binomial in the n samples. There are two truths: *these problems* (the drawn
problems are the benchmark, and only runs are random) and *new problems* (the problems are a sample of their kind).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize
from scipy.special import expit

NODES = 64  # nodes of a Gauss-Hermite sum; 128 nodes give the same values to 1e-7
GRID = np.linspace(-30, 30, 12001)  # logits; linear interpolation of a logistic curve between them errs by 3e-7


@dataclass(frozen=True)
class Benchmark:
    """`problems` problems with mean pass@1 `mean` (a share) and `n` samples each."""

    problems: int
    mean: float
    n: int


@dataclass(frozen=True)
class Size:
    """The benchmarks that are averaged, one or several, each with the same weight."""

    name: str
    benchmarks: tuple[Benchmark, ...]

    @property
    def problems(self) -> int:
        """The number of problems of all benchmarks together."""
        return sum(b.problems for b in self.benchmarks)


_SEVEN = ((500, 0.42, 16), (1319, 0.6, 16), (3153, 0.45, 16), (198, 0.3, 16), *[(30, 0.15, 32)] * 3)
_MINI = (*[(40, m, 8) for m in (0.4, 0.45, 0.75, 0.8)], *[(30, m, 8) for m in (0.3, 0.25, 0.2)])
SIZES = (
    Size("30 problems", (Benchmark(30, 0.15, 32),)),
    Size("500 problems", (Benchmark(500, 0.42, 16),)),
    Size("1,319 problems", (Benchmark(1319, 0.6, 16),)),
    Size("mini average", tuple(Benchmark(*b) for b in _MINI)),
    Size("seven benchmarks", tuple(Benchmark(*b) for b in _SEVEN)),
)


@dataclass(frozen=True)
class Case:
    """How runs and problems vary. Standard deviations are in logits, except `run_sd`."""

    name: str
    run_sd: float = 0.02  # of a run's true mean over the benchmarks, a share; converted to logits for each size
    difficulty_sd: float = 1.5
    problem_effect_sd: float = 0.0  # of the method's own effect on a problem, for arms with `specific`
    shared: float = 0.0  # part of the run variance that two methods' runs with the same seed share
    collapsing: float = 0.0  # probability that a run collapses
    depth: float = 2.0  # logits by which the effect of a collapsing run is lower


@dataclass(frozen=True)
class SimulatedArm:
    """A method: its shift in logits, and whether it helps some problems and hurts others (if the case says so)."""

    shift: float = 0.0
    specific: bool = False


@dataclass(frozen=True)
class Draw:
    """Scores of a batch of repetitions and the level of every arm under both truths, as shares."""

    blocks: list[NDArray[np.float64]]  # one per benchmark, shape (repetitions, arms, runs, problems), correct / n
    these: NDArray[np.float64]  # shape (repetitions, arms): the mean over new runs on the problems drawn
    new: NDArray[np.float64]  # shape (arms,): the mean over new runs and new problems

    def first(self, runs: int) -> "Draw":
        """The same draw with only the first `runs` runs of every arm."""
        return replace(self, blocks=[block[:, :, :runs] for block in self.blocks])


def _normal_mean(function: Callable[[NDArray[np.float64]], NDArray[np.float64]], sd: float) -> NDArray[np.float64]:
    """Mean of function(z sd) over a standard normal z; `function` maps (nodes,) to (..., nodes)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return function(nodes * sd) @ (weights / weights.sum())


def _over_runs(x: ArrayLike, sd: float, case: Case) -> NDArray[np.float64]:
    """Chance of a correct answer at logit x, any shape, averaged over run effects (collapsing runs included)."""
    at = np.asarray(x, dtype=np.float64)[..., None]
    healthy = _normal_mean(lambda z: expit(at + z), sd)
    if case.collapsing == 0:
        return healthy
    collapsed = _normal_mean(lambda z: expit(at - case.depth + z), sd)
    return (1 - case.collapsing) * healthy + case.collapsing * collapsed


@lru_cache
def intercepts(size: Size, case: Case) -> tuple[float, ...]:
    """Each benchmark's logit at which its mean over problems, without run effects, is the mean that the size states."""

    def gap(mu: float, mean: float) -> float:
        return float(_normal_mean(lambda z: expit(mu + z), case.difficulty_sd)) - mean

    return tuple(float(optimize.brentq(gap, -20, 20, args=(b.mean,))) for b in size.benchmarks)


@lru_cache
def run_effect_sd(size: Size, case: Case) -> float:
    """The standard deviation of the run effect in logits that gives runs' true means the spread `case.run_sd`."""
    if case.run_sd == 0:
        return 0.0
    mus = np.array(intercepts(size, case))

    def run_mean(effect: NDArray[np.float64]) -> NDArray[np.float64]:
        return _normal_mean(lambda z: expit(mus[:, None, None] + effect[:, None] + z), case.difficulty_sd).mean(axis=0)

    def gap(sd: float) -> float:
        mean, square = _normal_mean(run_mean, sd), _normal_mean(lambda z: run_mean(z) ** 2, sd)
        return float(np.sqrt(max(float(square - mean**2), 0.0))) - case.run_sd

    return float(optimize.brentq(gap, 0.0, 5.0))


def level_on_new_problems(size: Size, case: Case, arm: SimulatedArm) -> float:
    """An arm's mean score over new runs and new problems, by quadrature (error below 1e-6), a share."""
    specific = case.problem_effect_sd if arm.specific else 0.0
    sd = float(np.hypot(case.difficulty_sd, specific))
    at = np.array(intercepts(size, case)) + arm.shift
    effect = run_effect_sd(size, case)
    return float(_normal_mean(lambda z: _over_runs(at[:, None] + z, effect, case), sd).mean())


@lru_cache
def shift_for(difference: float, size: Size, case: Case, specific: bool = False) -> float:
    """The shift in logits, at most 10, that raises an arm's level on new problems by `difference`, a share."""
    base = level_on_new_problems(size, case, SimulatedArm())

    def gap(shift: float) -> float:
        return level_on_new_problems(size, case, SimulatedArm(shift, specific)) - base - difference

    return float(optimize.brentq(gap, -10, 10))


def draw(
    generator: np.random.Generator, size: Size, case: Case, arms: tuple[SimulatedArm, ...], runs: int, repetitions: int
) -> Draw:
    """Draw independent repetitions of an experiment: new problems and new runs in each.

    A run's effect is the same on all benchmarks, and all arms answer the same problems. Memory: about 30 bytes times
    repetitions x arms x runs x problems.
    """
    sd = run_effect_sd(size, case)
    common = generator.normal(size=(repetitions, 1, runs))  # runs of the same index are paired
    separate = generator.normal(size=(repetitions, len(arms), runs))
    effects = sd * (np.sqrt(case.shared) * common + np.sqrt(1 - case.shared) * separate)
    effects = effects - case.depth * (generator.random(separate.shape) < case.collapsing)
    curve = _over_runs(GRID, sd, case)
    effect_sd = np.array([case.problem_effect_sd if a.specific else 0.0 for a in arms])[:, None]
    shifts = np.array([a.shift for a in arms])[:, None]
    blocks, these = [], np.zeros((repetitions, len(arms)))
    for benchmark, mu in zip(size.benchmarks, intercepts(size, case), strict=True):
        shape = (repetitions, len(arms), benchmark.problems)
        logit = mu + shifts + generator.normal(0, case.difficulty_sd, (repetitions, 1, benchmark.problems))
        if effect_sd.any():
            logit = logit + effect_sd * generator.normal(size=shape)
        logit = np.broadcast_to(logit, shape)
        these += np.interp(logit, GRID, curve).mean(axis=-1) / len(size.benchmarks)
        p = expit(logit[:, :, None, :] + effects[..., None])
        blocks.append(generator.binomial(benchmark.n, p) / benchmark.n)
    return Draw(blocks, these, np.array([level_on_new_problems(size, case, a) for a in arms]))


def batches(size: Size, arms: int, runs: int, repetitions: int, values: int = 2_000_000) -> list[int]:
    """The number of repetitions of each batch, so that none has more than about `values` scores."""
    per_batch = max(1, min(repetitions, values // (arms * runs * size.problems)))
    return [min(per_batch, repetitions - start) for start in range(0, repetitions, per_batch)]
