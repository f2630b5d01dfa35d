"""Whether smaller studies, drawn from a study's own seeds, would have come to its verdicts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ict_core.evidence._claims import Claim, DifferenceTest, Largest
from ict_core.evidence._decide import corrected, found
from ict_core.evidence._ledger import LedgerFrames, decided, unfit
from ict_core.evidence._values import searched, values_of
from ict_core.statistics import CONTRADICTED, NOT_TESTED, STABILITY, SUPPORTED, Floats, claim_verdict

SIZES = (3, 6, 10)  # seeds of the studies that are drawn
DRAWS = 500  # of each size at most
_OPPOSITE = {SUPPORTED: CONTRADICTED, CONTRADICTED: SUPPORTED}

Runs = dict[Any, tuple[Floats, Floats]]
"""The seeds and the values of the runs of a model, or of one of those searched."""


@dataclass(frozen=True)
class Drawable:
    """The values of a claim, from which those of some seeds are taken."""

    claim: Claim
    over: Sequence[Runs]  # of the strongest baseline: over each; else one

    def models(self) -> set[str]:
        """The models whose runs are compared; of a searched largest the key is (model, ...)."""
        return {key if isinstance(key, str) else key[0] for key in self.over[0]}

    def of(self, seeds: Floats) -> dict[Any, Floats]:
        """The values of these seeds; none of a model that ran none of them."""
        drawn = [
            {key: values[of_seeds] for key, (ran, values) in runs.items() if (of_seeds := np.isin(ran, seeds)).any()}
            for runs in self.over
        ]
        return {
            key: min((runs[key] for runs in drawn), key=lambda values: float(values.mean()))
            for key in drawn[0]
            if all(key in runs for runs in drawn)
        }


def _runs(values: Mapping[Any, pd.Series]) -> Runs:
    return {key: (series.index.to_numpy(), series.to_numpy(np.float64)) for key, series in values.items()}


def drawable(claim: Claim, frames: LedgerFrames) -> Drawable:
    """The values of a claim in these frames."""
    test = claim.test
    if test is None:
        return Drawable(claim, [{}])
    if isinstance(test, Largest):
        return Drawable(claim, [_runs(searched(test, frames.runs))])
    tests = [test]
    if isinstance(test, DifferenceTest) and test.combine == "strongest":
        tests = [test.changed(against=(baseline,), combine=None) for baseline in test.against]
    return Drawable(claim, [_runs(values_of(t, frames.runs, frames.quantities, frames.mirrors)) for t in tests])


class Drawn(NamedTuple):
    """What a drawn study says of a claim."""

    finding: str
    verdict: str


def of_seeds(claims: Sequence[Drawable], seeds: Floats, margin: float) -> dict[str, Drawn]:
    """By their ids what the runs of these seeds say of the claims that they can test, as the ledger decides."""
    values = [(of.claim, of.of(seeds)) for of in claims]
    outcomes = [(claim, decided(claim, drawn, margin)[0]) for claim, drawn in values if drawn]
    corrections, findings = corrected(outcomes), {}
    for claim, outcome in outcomes:
        correction = corrections[claim.id]
        finding = found(outcome, correction.p, correction.p_equivalence)
        findings[claim.id] = Drawn(finding, claim_verdict(outcome.predicted, finding))
    return findings


def _draws(seeds: Floats, size: int, generator: np.random.Generator) -> Iterator[Floats]:
    """All studies of so many of the seeds, or where these are more than `DRAWS`, as many drawn at random."""
    if comb(len(seeds), size) <= DRAWS:
        yield from (np.array(some) for some in combinations(seeds, size))
        return
    for _ in range(DRAWS):
        yield generator.choice(seeds, size, replace=False)


def stability(
    claims: Sequence[Claim], frames: LedgerFrames, margin: float, generator: np.random.Generator
) -> pd.DataFrame:
    """How often a smaller study of these seeds has a claim's verdict of all, another one, or the opposite one.

    The studies are drawn without replacement, with :data:`SIZES` seeds where the study has at least twice as many; each
    is decided as the ledger decides, its families corrected anew. A claim that a drawn study cannot test has another
    verdict there. One that is not testable, as a gate failed, has no verdict, and no row. A frame of `STABILITY`.
    """
    drawables = [drawable(claim, frames) for claim in claims]
    ran = [run_seeds for of in drawables for runs in of.over for run_seeds, _ in runs.values()]
    seeds = np.unique(np.concatenate(ran)) if ran else np.array([])
    gated = {of.claim.id for of in drawables if unfit(of.claim, of.models(), frames.failed)}
    verdicts = {name: drawn.verdict for name, drawn in of_seeds(drawables, seeds, margin).items() if name not in gated}
    rows = []
    for size in SIZES:
        if 2 * size > len(seeds):
            continue
        found: dict[str, Counter[str]] = {name: Counter() for name in verdicts}
        for drawn in _draws(seeds, size, generator):
            findings = of_seeds(drawables, drawn, margin)
            for name, counts in found.items():
                counts[findings[name].verdict if name in findings else NOT_TESTED] += 1
        for name, counts in found.items():
            draws = counts.total()
            same, opposite = (counts[v] / draws for v in (verdicts[name], _OPPOSITE.get(verdicts[name], "")))
            rows.append((name, verdicts[name], len(seeds), size, draws, same, 1 - same - opposite, opposite))
    return pd.DataFrame(rows, columns=list(STABILITY))
