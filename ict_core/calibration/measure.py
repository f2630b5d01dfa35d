"""How often the harness's intervals hold the truth and its tests err, measured on simulated studies.

`python -m ict_core.calibration.measure` measures and writes the stored table; tables and the report read it.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ict_core.calibration import _methods as methods
from ict_core.calibration._simulate import SIZES, Case, Draw, SimulatedArm, Size, batches, draw, shift_for
from ict_core.errors import UserError
from ict_core.seeding import generator
from ict_core.statistics import calibrated
from ict_core.statistics.calibrated import COLUMNS

SEEDS = (3, 5, 10)
REPETITIONS = 4000
MARGIN = 0.02  # the true difference of the arms compared, and the margin of equivalence: a share
PLAIN = Case(calibrated.PLAIN)
SPECIFIC = Case("problem effects", problem_effect_sd=0.75)
CASES = (PLAIN, Case("shared seeds", shared=0.5), SPECIFIC, Case("collapsing runs", collapsing=0.1))
UNTRAINED = Case("one run", run_sd=0.0)
COVERAGE, FALSE_POSITIVES = (0.92, 0.98), 0.06  # within which a nominal 95 % interval and 5 % test keep their word

Measured = Iterable[tuple[int, methods.Question, NDArray[np.bool_]]]  # seeds, question, one outcome a repetition


def _draws(
    kind: str, size: Size, case: Case, arms: tuple[SimulatedArm, ...], runs: int, repetitions: int, seed: int
) -> Iterator[tuple[Draw, np.random.Generator]]:
    """Batches of repetitions, each with a generator of its own, in its state after the draw."""
    for number, batch in enumerate(batches(size, len(arms), runs, repetitions)):
        rng = generator(seed, "calibration", kind, case.name, size.name, number)
        yield draw(rng, size, case, arms, runs, batch), rng


def measure_pairs(
    size: Size, case: Case, repetitions: int, seed: int, seeds: Sequence[int] = SEEDS, popular: bool = True
) -> Measured:
    """Intervals and tests of three arms: two are the same method, the third is better by the margin.

    Fewer seeds are the first of the same runs. Bootstraps, unsafe intervals and the permutation test are measured
    where `popular`; the third arm helps some problems and hurts others where the case says so.
    """
    arms = (SimulatedArm(), SimulatedArm(), SimulatedArm(shift_for(MARGIN, size, case, True), True))
    for drawn, rng in _draws("pairs", size, case, arms, max(seeds), repetitions, seed):
        for number in seeds:
            first = drawn.first(number)
            outcomes = [
                *methods.difference_intervals(first, (2, 0), rng, popular),
                *methods.level_intervals(first, 0, rng, popular),
            ]
            if popular:
                outcomes += methods.aggregate_intervals(first, (1, 0), rng)
            if case.problem_effect_sd == 0:
                outcomes += methods.difference_tests(first, (1, 0), popular)
                outcomes += methods.equivalence_tests(first, (2, 0), MARGIN)
            yield from ((number, *outcome) for outcome in outcomes)


def measure_family(size: Size, repetitions: int, seed: int, seeds: Sequence[int] = SEEDS) -> Measured:
    """The declared family and the mean over models, in the plain case."""
    arms = (SimulatedArm(),) * (methods.MODELS * methods.ARMS_OF_MODEL)
    for drawn, _ in _draws("family", size, PLAIN, arms, max(seeds), repetitions, seed):
        for number in seeds:
            yield from ((number, *outcome) for outcome in methods.family_tests(drawn.first(number)))


def measure_one_run(size: Size, repetitions: int, seed: int) -> Measured:
    """The intervals of a model that was not trained and has one run, with the size's own n and with n = 1."""
    for kind, samples in (("as it is", size.benchmarks[0].n), ("one sample", 1)):
        sampled = size if samples > 1 else Size(size.name, tuple(replace(b, n=1) for b in size.benchmarks))
        for drawn, _ in _draws(f"one run, {kind}", sampled, UNTRAINED, (SimulatedArm(),), 1, repetitions, seed):
            yield from ((1, *outcome) for outcome in methods.one_run_intervals(drawn, samples))


def _keeps(quantity: str, rate: float) -> bool:
    return rate <= FALSE_POSITIVES if quantity == "false positives" else COVERAGE[0] <= rate <= COVERAGE[1]


def summarise(size: Size, case: Case, measured: Measured) -> pd.DataFrame:
    """A frame of :data:`COLUMNS` from the outcomes of single repetitions; `error` is one standard error of the rate."""
    outcomes: dict[tuple[int, methods.Question], list[NDArray[np.bool_]]] = {}
    for seeds, question, hits in measured:
        outcomes.setdefault((seeds, question), []).append(hits)
    rows = []
    for (seeds, question), parts in outcomes.items():
        hits = np.concatenate(parts)
        rate, near = float(hits.mean()), (hits.sum() + 0.5) / (hits.size + 1)
        nominal = 0.05 if question.quantity == "false positives" else 0.95
        error = float(np.sqrt(near * (1 - near) / hits.size))
        place = (case.name, size.name, len(size.benchmarks), size.problems, seeds)
        verdict = "keeps" if _keeps(question.quantity, rate) else "does not"
        rows.append((*place, *question, nominal, rate, error, hits.size, verdict))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def calibrate(repetitions: int, seed: int = 0, sizes: Sequence[Size] = SIZES) -> pd.DataFrame:
    """Measure everything with so many repetitions of each simulated study: a frame of :data:`COLUMNS`, rates as shares.

    Raises:
        UserError: fewer than 100 repetitions.
    """
    if repetitions < 100:
        raise UserError(f"a calibration from {repetitions} repetitions says nothing; take 100 or more")
    frames = []
    for size in sizes:
        frames.append(summarise(size, UNTRAINED, measure_one_run(size, repetitions, seed)))
        for case in CASES:
            frames.append(summarise(size, case, measure_pairs(size, case, repetitions, seed, popular=case == PLAIN)))
        frames.append(summarise(size, PLAIN, measure_family(size, repetitions, seed)))
    return pd.concat(frames, ignore_index=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: measure, write the table, say what does not keep its word and how long it took."""
    parser = argparse.ArgumentParser(prog="python -m ict_core.calibration.measure", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=calibrated.FILE)
    given = parser.parse_args(arguments)
    start = time.monotonic()
    frame = calibrate(given.repetitions, given.seed)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(given.out, index=False, float_format="%.5f", lineterminator="\n")
    broken = frame[(frame["role"] == methods.PRIMARY) & (frame["verdict"] == "does not")]
    shown = broken[["case", "size", "seeds", "quantity", "method", "truth", "rate", "error"]]
    sys.stdout.write(f"{shown.to_string(index=False) if len(shown) else 'every primary method keeps its word'}\n")
    sys.stdout.write(f"{len(frame)} rows in {given.out}, {time.monotonic() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
