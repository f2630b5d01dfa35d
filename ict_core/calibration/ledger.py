"""How often the ledger of claims finds what is not there, and what is, measured on simulated studies.

`python -m ict_core.calibration.ledger` measures `configs/claims.yaml` and writes the stored table. Every value that a
claim is about is drawn; from there on the ledger's own code decides, its families corrected as in every study.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from ict_core.errors import UserError
from ict_core.evidence import Claim, DifferenceTest, LedgerFrames, Measure, drawable, of_seeds, read_claims, variants_of
from ict_core.seeding import generator
from ict_core.statistics import AVERAGE, BASE, BETTER, EXACT_PAIRS, METRICS, STATISTICS, WORSE, Graded

FILE = Path(__file__).with_name("ledger.csv")
CLAIMS = Path("configs/claims.yaml")
SEEDS = (3, 6, 10, 20)
REPETITIONS = 500
FEWER = 5  # where flips are drawn, 100,000 a test, so many times fewer studies
MARGIN = 0.02  # of equivalence, a share
WHOLE = "whole ledger"
WRONG, RIGHT = "a wrong finding", "found"
COLUMNS = ("arms", "case", "points", "seeds", "family", "claims", "question", "rate", "error", "repetitions")

GAINS = "ict-10"  # the arm whose true gain is varied
PAPERS = ("MATH-500", "GSM8K", "MMLU-STEM", "GPQA", "AIME 23", "AIME 24", "AIME 25")
MINI = (BASE, "grpo", "entropy-20", "stapo", GAINS, "random-10")  # the arms of configs/studies/mini.yaml


@dataclass(frozen=True)
class Case:
    """What is true, and how runs vary; shares."""

    name: str
    gain: float = 0.0  # of `GAINS`, and of the arms that are claimed to equal it, over every other arm
    base_sd: float = 0.03  # what the runs of one seed share, as by their base model
    run_sd: float = 0.015  # of a run, on all benchmarks
    cell_sd: float = 0.02  # of a run on one benchmark, by one metric
    collapsing: float = 0.0  # the chance that a run loses `depth` on all benchmarks
    depth: float = 0.1


NULL = Case("no difference")
CASES = (
    NULL,
    Case("no difference, one run in ten collapses", collapsing=0.1),
    Case("2 points", 0.02),
    Case("5 points", 0.05),
)


def _gaining(claims: Sequence[Claim]) -> set[str]:
    """`GAINS`, and every arm that is claimed to equal one that gains."""
    arms = {GAINS}
    for claim in claims:
        test = claim.test
        if isinstance(test, DifferenceTest) and test.direction == "equal" and {test.ours, *test.against} & arms:
            arms |= {test.ours, *test.against}
    return arms


def _runs(case: Case, arms: Sequence[str], gaining: set[str], seeds: int, rng: np.random.Generator) -> pd.DataFrame:
    """Scores of so many seeds of every arm by pass@1, pass@4 and their mean: a frame of the statistics' `runs`.

    The seeds differ by what all arms share, the runs by their own effect, the benchmarks of a run by a rest.
    """
    shape = (len(arms), seeds, 1, 1)
    level = 0.5 + rng.normal(0, case.base_sd, (1, seeds, 1, 1)) + rng.normal(0, case.run_sd, shape)
    level = level + np.array([case.gain * (arm in gaining) for arm in arms]).reshape(-1, 1, 1, 1)
    level = level - case.depth * (rng.random(shape) < case.collapsing)
    scores = level + rng.normal(0, case.cell_sd, (len(arms), seeds, len(PAPERS), 2))
    scores = np.concatenate([scores, scores.mean(axis=2, keepdims=True)], axis=2)
    scores = np.concatenate([scores, scores.mean(axis=3, keepdims=True)], axis=3)
    places = product(["model"], arms, range(seeds), [*PAPERS, AVERAGE], METRICS)
    frame = pd.DataFrame(places, columns=[name for name in STATISTICS["runs"] if name != "value"])
    return frame.assign(value=scores.ravel())


def _quantities(claims: Sequence[Claim], arms: Sequence[str], seeds: int, rng: np.random.Generator) -> pd.DataFrame:
    """What the claims on tokens measure: 0 in the mean, or where a range is claimed its upper limit."""
    rows = []
    for claim in claims:
        test = claim.test
        if isinstance(test, Measure) and set(variants_of(test)) <= set(arms):
            low, high = test.within or (-2.0, 0.0)
            for arm in variants_of(test):
                values = high + rng.normal(0, (high - low) / 2, seeds)
                rows += [("model", arm, seed, test.quantity, value) for seed, value in enumerate(values)]
    frame = pd.DataFrame(rows, columns=list(STATISTICS["quantities"]))
    return frame.drop_duplicates(["variant", "seed", "quantity"])


def _truth(claim: Claim, gain: float, gaining: set[str]) -> float:
    """The true value that a claim's test is about, as far as it may be found: 0 means that nothing should be."""
    test = claim.test
    assert test is not None
    if isinstance(test, Measure) or (isinstance(test, DifferenceTest) and test.minus_metric is not None):
        return 0.0
    return gain * float((test.ours in gaining) - np.mean([arm in gaining for arm in test.against]))


def _wrong(finding: str, truth: float) -> bool:
    """Whether something was found on a side of 0 (or of a range) on which the truth does not lie."""
    return (finding == BETTER and truth <= 0) or (finding == WORSE and truth >= 0)


def _studies(
    claims: Sequence[Claim], arms: Sequence[str], case: Case, seeds: int, repetitions: int, seed: int
) -> Iterator[Mapping[str, str]]:
    """Of every simulated study what was found of each claim that its arms can test, by the claim's id."""
    gaining = _gaining(claims)
    mirrors = dict(zip(PAPERS, PAPERS, strict=True))
    none_lost = Graded(pd.DataFrame(columns=["n", "sampled"]))
    at_once = min(repetitions, max(1, 500 // seeds))
    for start in range(0, repetitions, at_once):
        rng = generator(seed, "ledger", case.name, ",".join(arms), seeds, start)
        count = min(at_once, repetitions - start)
        runs = _runs(case, arms, gaining, count * seeds, rng)
        frames = LedgerFrames(runs, _quantities(claims, arms, count * seeds, rng), mirrors, none_lost)
        drawables = [drawable(claim, frames) for claim in claims]
        for study in range(count):
            drawn = of_seeds(drawables, np.arange(study * seeds, (study + 1) * seeds, dtype=np.float64), MARGIN)
            yield {name: claim.finding for name, claim in drawn.items()}


def measure(
    claims: Sequence[Claim], arms: Sequence[str], case: Case, seeds: int, repetitions: int, seed: int = 0
) -> list[tuple[str, int, str, float, float]]:
    """In every family and the whole ledger: the share of studies with a wrong finding, and of the true gains found.

    A tuple is of the family, its claims that are tested, the question, the rate and its standard error.
    """
    gaining = _gaining(claims)
    by_id = {claim.id: claim for claim in claims}
    studies = list(_studies(claims, arms, case, seeds, repetitions, seed))
    families: dict[str, list[str]] = {WHOLE: list(studies[0])}
    for name in studies[0]:
        families.setdefault(by_id[name].family, []).append(name)
    truths = {name: _truth(by_id[name], case.gain, gaining) for name in studies[0]}
    rows = []
    for family, names in families.items():
        questions = {
            WRONG: [float(any(_wrong(findings[name], truths[name]) for name in names)) for findings in studies]
        }
        true = [name for name in names if truths[name] > 0]
        if true:
            questions[RIGHT] = [float(np.mean([findings[name] == BETTER for name in true])) for findings in studies]
        for question, outcomes in questions.items():
            values = np.asarray(outcomes, dtype=np.float64)
            error = float(values.std() / np.sqrt(len(values)))
            rows.append((family, len(true if question == RIGHT else names), question, float(values.mean()), error))
    return rows


def calibrate(claims: Sequence[Claim], repetitions: int, seed: int = 0) -> pd.DataFrame:
    """Measure everything with so many repetitions, 20 or more, of each simulated study: a frame of :data:`COLUMNS`."""
    if repetitions < 20:
        raise UserError(f"a calibration from {repetitions} repetitions says nothing; take 20 or more")
    every = tuple(dict.fromkeys(arm for claim in claims for arm in variants_of(claim.test)))
    rows = []
    for (name, arms), case, seeds in product({"mini": MINI, "every arm": every}.items(), CASES, SEEDS):
        if name == "mini" or case.gain == 0:
            number = repetitions if seeds <= EXACT_PAIRS else repetitions // FEWER
            measured = measure(claims, arms, case, seeds, number, seed)
            rows += [(name, case.name, 100 * case.gain, seeds, *row, number) for row in measured]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def stored() -> pd.DataFrame:
    """The calibration that the package carries, a frame of :data:`COLUMNS`."""
    return pd.read_csv(FILE)


def main(repetitions: int = REPETITIONS) -> None:
    """Measure the ledger of `configs/claims.yaml`, write the stored table, and say how often all of it errs."""
    frame = calibrate(read_claims(CLAIMS), repetitions)
    frame.to_csv(FILE, index=False, float_format="%.5f", lineterminator="\n")
    typer.echo(frame[frame["family"] == WHOLE].to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
