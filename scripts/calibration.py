"""Coverage of the harness's intervals and error rates of its tests, measured on simulated studies.

`python scripts/calibration.py` measures and writes the stored table (`ict_core/statistics/calibration.csv`), which the
report reads. docs/calibration.md shows it by :func:`tables`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from simulated_studies import SIZES, Case, Draw, SimulatedArm, Size, batches, draw, shift_for
from statsmodels.stats.proportion import proportion_confint

from ict_core.errors import UserError
from ict_core.markdown import markdown_table
from ict_core.seeding import generator
from ict_core.statistics import calibrated
from ict_core.statistics.calibrated import COLUMNS, NEW
from ict_core.statistics.deciding import sign_flip, two_one_sided
from ict_core.statistics.intervals import (
    LEVEL,
    Estimate,
    Floats,
    over_problems,
    over_runs,
    stratified_t,
    two_way,
    two_way_level,
    wilson,
)
from ict_core.statistics.schemas import ALPHA, SIGN_FLIP_FROM

PRIMARY, SECOND, OTHER, UNSAFE = ROLES = ("primary", "second view", "other truth", "unsafe")
THESE = "these problems"
SAME, ON_MARGIN = "two arms of one method", "a difference on the margin"
FAMILY, STRATA = "12 contrasts without a difference", "three models without a difference"
MODELS, ARMS_OF_MODEL = 3, 5  # the family: each model has a method and four baselines, all the same method


class Question(NamedTuple):
    """What a rate is measured for: a quantity, the method, the truth that it is compared with, and the method's role.

    Roles: "primary" is what the harness decides by. "second view" is shown beside it with its measured coverage.
    "other truth" is a sound interval read for a truth that it is not made for. "unsafe" is popular and not used here.
    """

    quantity: str
    method: str
    truth: str
    role: str


Outcomes = Iterator[tuple[Question, NDArray[np.bool_]]]
"""A question, and whether the interval covers the truth or the test rejects in each repetition, (repetitions,)."""


def covers(low: Floats, high: Floats, truth: Floats | float) -> NDArray[np.bool_]:
    """Whether each interval covers the truth. An interval that does not exist (NaN) does not."""
    return (low <= truth) & (truth <= high)


def runs_of(blocks: list[Floats], arm: int) -> Floats:
    """The means of an arm's runs, averaged over the benchmarks, shape (repetitions, runs)."""
    return np.mean([b[:, arm].mean(axis=-1) for b in blocks], axis=0)


class _Measured(NamedTuple):
    """A quantity with its two truths: its value on `these` problems and on `new` problems."""

    quantity: str
    these: Floats
    new: Floats | float

    def covered(self, method: str, interval: Estimate, of_these: str, of_new: str) -> Outcomes:
        """Whether the method's interval covers each truth, with the method's role for that truth."""
        for truth, value, role in ((THESE, self.these, of_these), (NEW, self.new, of_new)):
            yield Question(self.quantity, method, truth, role), covers(interval.low, interval.high, value)


def difference_intervals(drawn: Draw, arms: tuple[int, int], unsafe: bool) -> Outcomes:
    """Intervals for the difference arms[0] - arms[1], paired by run. `unsafe` adds t over problems alone."""
    first, second = arms
    gap = _Measured("difference", drawn.these[:, first] - drawn.these[:, second], drawn.new[first] - drawn.new[second])
    paired = [b[:, first] - b[:, second] for b in drawn.blocks]
    a, b = (runs_of(drawn.blocks, arm) for arm in arms)
    yield from gap.covered("t over seeds", over_runs(a - b), PRIMARY, OTHER)
    yield from gap.covered("two-way", two_way(paired), OTHER, PRIMARY)
    if unsafe:
        yield from gap.covered("t over problems", over_problems([b.mean(axis=-2) for b in paired]), UNSAFE, UNSAFE)


def level_intervals(drawn: Draw, arm: int, unsafe: bool) -> Outcomes:
    """Intervals for the level of one arm with several runs. `unsafe` adds t over problems alone."""
    level = _Measured("level", drawn.these[:, arm], float(drawn.new[arm]))
    scores = [b[:, arm] for b in drawn.blocks]
    yield from level.covered("two-way", two_way_level(scores), OTHER, PRIMARY)
    yield from level.covered("t over seeds", over_runs(runs_of(drawn.blocks, arm)).of_share(), SECOND, OTHER)
    if unsafe:
        yield from level.covered("t over problems", over_problems([b.mean(axis=-2) for b in scores]), UNSAFE, UNSAFE)


def one_run_intervals(drawn: Draw, samples: int) -> Outcomes:
    """Intervals for the level of an untrained model, which is the only arm and has one run.

    `samples` is the number of samples per problem of the first benchmark. Wilson's interval is measured on single
    benchmarks only, because an average of benchmarks is not a count of trials.
    """
    scores = [b[:, 0, 0] for b in drawn.blocks]
    truth = float(drawn.new[0])
    t = over_problems(scores).of_share()
    quantity = "level of one run" + (", n = 1" if samples == 1 else "")
    yield Question(quantity, "t over problems", NEW, PRIMARY), covers(t.low, t.high, truth)
    if len(scores) > 1:
        return
    if samples == 1:
        share = wilson(scores[0])
        yield Question(quantity, "wilson", NEW, PRIMARY), covers(share.low, share.high, truth)
        return
    problems = scores[0].shape[-1]
    for method, trials in (("wilson, problems as trials", problems), ("wilson, samples as trials", problems * samples)):
        limits = proportion_confint(scores[0].mean(axis=-1) * trials, trials, alpha=1 - LEVEL, method="wilson")
        yield Question(quantity, method, NEW, UNSAFE), covers(np.asarray(limits[0]), np.asarray(limits[1]), truth)


def _rejections(method: str, truth: str, role: str, p: Floats) -> tuple[Question, NDArray[np.bool_]]:
    """A question about a test, and whether it rejects. A test without a p-value (NaN) does not."""
    return Question("false positives", method, truth, role), p < ALPHA


def difference_tests(drawn: Draw, arms: tuple[int, int]) -> Outcomes:
    """Tests at the 5 % level of two arms that are the same method."""
    first, second = (runs_of(drawn.blocks, arm) for arm in arms)
    paired = [b[:, arms[0]] - b[:, arms[1]] for b in drawn.blocks]
    yield _rejections("paired t", SAME, PRIMARY, over_runs(first - second).p)
    yield _rejections("sign-flip", SAME, PRIMARY, sign_flip(first - second))
    yield _rejections("two-way t", SAME, SECOND, two_way(paired).p)
    yield _rejections("t over problems", SAME, UNSAFE, over_problems([b.mean(axis=-2) for b in paired]).p)


def equivalence_tests(drawn: Draw, arms: tuple[int, int], margin: float) -> Outcomes:
    """Two one-sided tests within +-margin. The two arms differ by the margin, so declaring them equivalent is wrong."""
    gap = over_runs(runs_of(drawn.blocks, arms[0]) - runs_of(drawn.blocks, arms[1]))
    yield _rejections("two one-sided t", ON_MARGIN, PRIMARY, two_one_sided(gap.mean, gap.se, gap.df, -margin, margin))


def smallest_by_holm(p: Floats) -> Floats:
    """Each family's smallest p after Holm's correction, (families, tests) to (families,): does any test reject?

    A test without a p (NaN) rejects nothing and counts in its family, as in :func:`~ict_core.statistics.deciding.holm`.
    """
    return np.minimum(p.shape[-1] * np.fmin.reduce(p, axis=-1), 1.0)


def family_tests(drawn: Draw) -> Outcomes:
    """Holm's family of 12 contrasts (three models, a method against four baselines) and the mean over the models.

    The 15 arms drawn are the same method: five for the first model, and so on. The family rejects if any contrast does.
    """
    runs = np.stack([runs_of(drawn.blocks, arm) for arm in range(MODELS * ARMS_OF_MODEL)], axis=1)
    by_model = runs.reshape(len(runs), MODELS, ARMS_OF_MODEL, -1)
    gaps = by_model[:, :, :1] - by_model[:, :, 1:]
    contrasts = gaps.reshape(len(runs), MODELS * (ARMS_OF_MODEL - 1), -1)
    p_t = over_runs(contrasts).p
    yield _rejections("paired t, Holm", FAMILY, PRIMARY, smallest_by_holm(p_t))
    if contrasts.shape[-1] >= SIGN_FLIP_FROM:
        yield _rejections("sign-flip, Holm", FAMILY, PRIMARY, smallest_by_holm(sign_flip(contrasts)))
    yield Question("false positives", "paired t, uncorrected", FAMILY, UNSAFE), np.asarray((p_t < ALPHA).any(axis=1))
    p_strata = np.array([stratified_t(list(models)).p for models in gaps[:, :, 0]])
    yield _rejections("stratified t", STRATA, PRIMARY, p_strata)


SEEDS = (3, 5, 10)
REPETITIONS = 4000
MARGIN = 0.02  # the true difference of the arms compared, and the equivalence margin, a share
PLAIN = Case(calibrated.PLAIN)
SPECIFIC = Case("problem effects", problem_effect_sd=0.75)
CASES = (PLAIN, Case("shared seeds", shared=0.5), SPECIFIC, Case("collapsing runs", collapsing=0.1))
UNTRAINED = Case("one run", run_sd=0.0)
COVERAGE, FALSE_POSITIVES = (0.92, 0.98), (0.0, 0.06)  # allowed rates of a nominal 95 % interval, a 5 % test

Hits = Iterable[tuple[int, Question, NDArray[np.bool_]]]  # seeds, question, one outcome per repetition


def _draws(
    kind: str, size: Size, case: Case, arms: tuple[SimulatedArm, ...], runs: int, repetitions: int, seed: int
) -> Iterator[Draw]:
    """Batches of repetitions, each drawn with its own random generator."""
    for number, batch in enumerate(batches(size, len(arms), runs, repetitions)):
        rng = generator(seed, "calibration", kind, case.name, size.name, number)
        yield draw(rng, size, case, arms, runs, batch)


def measure_pairs(
    size: Size, case: Case, repetitions: int, seed: int, seeds: Sequence[int] = SEEDS, unsafe: bool = True
) -> Hits:
    """Intervals and tests of three arms: two are the same method, the third is better by the margin.

    A smaller number of seeds uses the first of the same runs. If the case has problem effects, the third arm helps some
    problems and hurts others.
    """
    arms = (SimulatedArm(), SimulatedArm(), SimulatedArm(shift_for(MARGIN, size, case, True), True))
    for drawn in _draws("pairs", size, case, arms, max(seeds), repetitions, seed):
        for number in seeds:
            first = drawn.first(number)
            outcomes = [*difference_intervals(first, (2, 0), unsafe), *level_intervals(first, 0, unsafe)]
            if case.problem_effect_sd == 0:
                outcomes += difference_tests(first, (1, 0))
                outcomes += equivalence_tests(first, (2, 0), MARGIN)
            yield from ((number, *outcome) for outcome in outcomes)


def measure_family(size: Size, repetitions: int, seed: int, seeds: Sequence[int] = SEEDS) -> Hits:
    """Tests of the declared family and of the mean over models, in the plain case."""
    arms = (SimulatedArm(),) * (MODELS * ARMS_OF_MODEL)
    for drawn in _draws("family", size, PLAIN, arms, max(seeds), repetitions, seed):
        for number in seeds:
            yield from ((number, *outcome) for outcome in family_tests(drawn.first(number)))


def measure_one_run(size: Size, repetitions: int, seed: int) -> Hits:
    """Intervals for an untrained model with one run, with the size's own n and with n = 1."""
    for kind, samples in (("as it is", size.benchmarks[0].n), ("one sample", 1)):
        sampled = size if samples > 1 else Size(size.name, tuple(replace(b, n=1) for b in size.benchmarks))
        for drawn in _draws(f"one run, {kind}", sampled, UNTRAINED, (SimulatedArm(),), 1, repetitions, seed):
            yield from ((1, *outcome) for outcome in one_run_intervals(drawn, samples))


def summarise(size: Size, case: Case, measured: Hits) -> pd.DataFrame:
    """A frame of :data:`COLUMNS` from the outcomes of single repetitions; `error` is one standard error of the rate."""
    outcomes: dict[tuple[int, Question], list[NDArray[np.bool_]]] = {}
    for seeds, question, hits in measured:
        outcomes.setdefault((seeds, question), []).append(hits)
    rows = []
    for (seeds, question), parts in outcomes.items():
        hits = np.concatenate(parts)
        rate, smoothed = float(hits.mean()), (hits.sum() + 0.5) / (hits.size + 1)
        is_test = question.quantity == "false positives"
        nominal, (low, high) = (ALPHA, FALSE_POSITIVES) if is_test else (LEVEL, COVERAGE)
        error = float(np.sqrt(smoothed * (1 - smoothed) / hits.size))
        place = (case.name, size.name, len(size.benchmarks), size.problems, seeds)
        verdict = "keeps" if low <= rate <= high else "does not"
        rows.append((*place, *question, nominal, rate, error, hits.size, verdict))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def calibrate(repetitions: int, seed: int = 0, sizes: Sequence[Size] = SIZES) -> pd.DataFrame:
    """Measure everything with `repetitions` (100 or more) of each simulated study: a frame of :data:`COLUMNS`."""
    if repetitions < 100:
        raise UserError(f"a calibration from {repetitions} repetitions says nothing; take 100 or more")
    frames = []
    for size in sizes:
        frames.append(summarise(size, UNTRAINED, measure_one_run(size, repetitions, seed)))
        for case in CASES:
            frames.append(summarise(size, case, measure_pairs(size, case, repetitions, seed, unsafe=case == PLAIN)))
        frames.append(summarise(size, PLAIN, measure_family(size, repetitions, seed)))
    return pd.concat(frames, ignore_index=True)


def table(frame: pd.DataFrame, rows: Sequence[str] = ("method", "truth", "role")) -> str:
    """A Markdown table of rates in per cent, by rising number of seeds. A rate that is out of bounds is bold.

    It has a row for each combination of values in the columns `rows`, and a column for each size, both in the order of
    the frame. A dash means that nothing was measured.
    """
    texts = (100 * frame["rate"]).map("{:.1f}".format)
    texts = texts.where(frame["verdict"] != "does not", "**" + texts + "**")
    by_place = frame.assign(text=texts).set_index([*rows, "size", "seeds"])["text"].to_dict()
    heads, seeds = list(frame["size"].unique()), sorted(frame["seeds"].unique())
    lines = []
    for key in frame[list(rows)].drop_duplicates().itertuples(index=False, name=None):
        cells = [[by_place.get((*key, head, number), "-") for number in seeds] for head in heads]
        lines.append([*key, *("-" if set(cell) == {"-"} else " / ".join(cell) for cell in cells)])
    names = [*rows, *heads]
    return markdown_table(names, lines, "-" * len(names)).rstrip()


def tables(frame: pd.DataFrame) -> dict[str, str]:
    """The tables of the documentation by their captions, from a frame of `calibrated.COLUMNS`.

    Unsafe methods, and second views of a difference, are shown for new problems only. For cases other than the plain
    one the tables have the primary methods, and for a difference also the other readings for new problems.
    """
    frame = frame.sort_values("role", key=lambda roles: roles.map(ROLES.index), kind="stable")
    plain, one_run = (frame["case"] == case.name for case in (PLAIN, UNTRAINED))
    gaps, levels, tests = (frame["quantity"] == name for name in ("difference", "level", "false positives"))
    omitted = (frame["truth"] == THESE) & ((frame["role"] == UNSAFE) | (gaps & (frame["role"] == SECOND)))
    decides = (frame["role"] == PRIMARY) | (gaps & (frame["truth"] == NEW) & frame["role"].isin([OTHER, SECOND]))
    other = frame[~plain & ~one_run & decides]
    other = other.sort_values("case", key=lambda cases: cases.map(list(dict.fromkeys(cases)).index), kind="stable")
    return {
        "Coverage of a difference": table(frame[plain & gaps & ~omitted]),
        "Coverage of a level": table(frame[plain & levels & ~omitted]),
        "Coverage of the level of one run": table(frame[one_run], ("quantity", "method", "role")),
        "False positives": table(frame[plain & tests]),
        "Other cases": table(other, ("case", "quantity", "method", "truth")),
    }


def main(repetitions: int = REPETITIONS) -> None:
    """Measure, write the stored table, and print the primary methods whose rates are out of bounds."""
    frame = calibrate(repetitions)
    frame.to_csv(calibrated.FILE, index=False, float_format="%.5f", lineterminator="\n")
    broken = frame[(frame["role"] == PRIMARY) & (frame["verdict"] == "does not")]
    printed = broken[["case", "size", "seeds", "quantity", "method", "truth", "rate", "error"]]
    typer.echo(printed.to_string(index=False) if len(printed) else "every primary method keeps its word")


if __name__ == "__main__":
    typer.run(main)
