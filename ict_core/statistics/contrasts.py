"""Contrasts: variants against baselines, paired by seed, each with tests, their corrections and a verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ict_core.errors import UserError
from ict_core.statistics import deciding
from ict_core.statistics.arms import Arms, VariantsByModel, difference
from ict_core.statistics.intervals import ROUNDING, Floats, over_runs, two_way, without_spread
from ict_core.statistics.pairing import shared_seeds
from ict_core.statistics.schemas import AVERAGE, BASE, CONTRASTS, DECLARED, EXPLORATORY, METRICS, SINGLE_BENCHMARK


@dataclass(frozen=True)
class Comparisons:
    """What a study compares, and how strictly. A pair is left out for a model that ran no seed of both variants."""

    baselines: Sequence[str]  # the variants to test against, in order
    declared: Mapping[tuple[str, str, str], Sequence[str]]  # the ledger's (variant, baseline, metric) -> its questions
    varied: Sequence[tuple[str, str]]  # (variant, the one that it varies); exploratory unless already a pair
    margin: float  # of equivalence, a share above 0; also the difference that `seeds_needed` assumes
    power: float  # for `detectable` and `seeds_needed`

    def pairs(self, variants: Sequence[str]) -> list[tuple[str, str]]:
        """The (variant, baseline) pairs of a model that ran `variants`: the usual, then the declared, then the varied.

        The usual pairs are each trained variant against each baseline. Two variants are paired once. A declared pair
        keeps its order; in others the later of two baselines, or the variant that varies the other, comes first.
        """
        names = set(variants) - {BASE}
        rank = {baseline: i for i, baseline in enumerate(self.baselines)}
        last = len(rank)
        declared = [(v, b) for v, b, _ in self.declared if v in names and b in names]
        usual = [(v, b) for v in variants for b in self.baselines if {v, b} <= names and rank.get(v, last) > rank[b]]
        ordered = [(b, v) if (b, v) in declared and (v, b) not in declared else (v, b) for v, b in usual]
        pairs = list(dict.fromkeys([*ordered, *declared]))
        matched = {frozenset(pair) for pair in pairs}
        return pairs + [(v, other) for v, other in self.varied if {v, other} <= names and {v, other} not in matched]


def correlation(ours: Floats, theirs: Floats) -> float:
    """Pearson's correlation of two arms' runs, each of shape (seeds,): how much the pairing helps.

    NaN below three seeds (two points always correlate to +-1) and where one arm's runs are all equal.
    """
    if ours.size < 3 or without_spread(ours) or without_spread(theirs):
        return float("nan")
    return float(np.corrcoef(ours, theirs)[0, 1])


def _runs(
    arms: Mapping[str, Arms], variants_by_model: VariantsByModel, comparisons: Comparisons
) -> list[dict[str, Any]]:
    """A row for each contrast, before any correction; the next steps need its `runs`, `se` and `identical`."""
    metrics = dict.fromkeys([*METRICS, *(metric for _, _, metric in comparisons.declared)])
    pairs = [(model, *pair) for model, variants in variants_by_model.items() for pair in comparisons.pairs(variants)]
    rows = []
    for (model, variant, baseline), metric in product(pairs, [metric for metric in metrics if metric in arms]):
        ours, theirs = arms[metric][model, variant], arms[metric][model, baseline]
        if not (shared := tuple(shared_seeds(ours.seeds, theirs.seeds))):  # an ablation may have fewer than its method
            continue
        ours, theirs = ours.only(shared), theirs.only(shared)
        gap = difference(ours, theirs)
        for benchmark in gap.benchmarks:
            runs = gap.runs(benchmark)
            by_seeds, by_both = over_runs(runs).of_difference(), two_way(gap.of(benchmark)).of_difference()
            declared = comparisons.declared.get((variant, baseline, metric)) if benchmark == AVERAGE else None
            undeclared = EXPLORATORY if benchmark == AVERAGE else SINGLE_BENCHMARK
            rows.append(
                {
                    "model": model,
                    "variant": variant,
                    "baseline": baseline,
                    "benchmark": benchmark,
                    "metric": metric,
                    "family": DECLARED if declared else undeclared,
                    "question": declared[0] if declared else "",
                    "questions": declared or (),
                    "seeds": runs.size,
                    "difference": float(by_seeds.mean),
                    "low": float(by_seeds.low),
                    "high": float(by_seeds.high),
                    "two_way_low": float(by_both.low),
                    "two_way_high": float(by_both.high),
                    "sd": float(runs.std(ddof=1)) if runs.size > 1 else float("nan"),
                    "correlation": correlation(ours.runs(benchmark), theirs.runs(benchmark)),
                    "p_t": float(by_seeds.p),
                    "p_floor": deciding.sign_flip_floor(runs.size),
                    "runs": runs,
                    "se": float(by_seeds.se),
                    "identical": bool((np.abs(runs) <= ROUNDING).all()),
                }
            )
    return rows


def _sign_flips(frame: pd.DataFrame) -> Floats:
    """The sign-flip p of each contrast (NaN for one seed); contrasts with equally many seeds are tested together."""
    p = np.full(len(frame), np.nan)
    for seeds in set(frame["seeds"]) - {1}:
        rows = np.flatnonzero(frame["seeds"] == seeds)
        p[rows] = deciding.sign_flip(np.stack(frame["runs"].iloc[rows].to_list()))
    return p


def verdicts(frame: pd.DataFrame, reasons: Sequence[tuple[Any, ArrayLike]]) -> NDArray[np.str_]:
    """The finding of each difference with its corrected p, or the first reason that holds why there is none."""
    direction = np.where(frame["difference"] > 0, deciding.BETTER, deciding.WORSE)
    verdict = deciding.finding(direction, frame["p"], frame["p_adjusted"], frame["p_equivalence_adjusted"])
    found = ~np.isin(verdict, [deciding.NOT_CONFIRMED, deciding.NONE_SEEN])
    texts, conditions = zip((verdict, found), *reasons, strict=True)
    return np.select(conditions, texts, default=verdict)


def _adjusted(frame: pd.DataFrame, p: Floats) -> Floats:
    """The p of all contrasts, shape (rows,), corrected in each family, of the declared ones in their first question."""
    adjusted = np.full(len(frame), np.nan)
    same = zip(frame.index, frame["model"], frame["runs"], frame["identical"], strict=True)
    tests = [row if identical else (model, runs.tobytes()) for row, model, runs, identical in same]
    for question, rows in frame.groupby("question").indices.items():
        if question:
            asked = np.flatnonzero([question in questions for questions in frame["questions"]])
            corrected = pd.Series(deciding.holm_of_distinct(p[asked], [tests[row] for row in asked]), asked)
            adjusted[rows] = corrected[rows]
    for rows in frame[frame["family"] != DECLARED].groupby("family").groups.values():
        adjusted[rows] = deciding.benjamini_hochberg(p[rows])
    return adjusted


def contrast_frame(
    arms: Mapping[str, Arms], variants_by_model: VariantsByModel, comparisons: Comparisons
) -> pd.DataFrame:
    """A frame of `CONTRASTS`: every pair on every benchmark and on their average.

    The declared family has the declared metrics of the declared pairs on the average. Holm's procedure corrects those
    of one question over all models, and counts contrasts of the same runs once (two arms may be equal to the bit), but
    not two without any difference. Of several questions that declare a contrast the first is shown. All
    other rows of the average are one exploratory family, and those of single benchmarks another. Benjamini and
    Hochberg's procedure corrects each of the two. `deciding.py` says which test decides. The verdict is the first that
    applies: "better" or "worse" (corrected p below `ALPHA`); "equivalent" (p of two one-sided t-tests within +-margin,
    corrected in the same way, below `ALPHA`); "one seed"; "identical" (every paired difference is 0 up to rounding);
    "no spread" (all are equal and not 0, so that there is no t-test); "not confirmed" (p below `ALPHA` before the
    correction only); "none seen".

    `arms` has the arms of each metric. The metrics are those of METRICS and the declared ones that it contains.

    Raises:
        UserError: a margin or power out of range.
    """
    margin, power = comparisons.margin, comparisons.power
    if margin <= 0:
        raise UserError(f"margin {margin}: must lie above 0")
    rows = _runs(arms, variants_by_model, comparisons)
    if not rows:
        return pd.DataFrame(columns=list(CONTRASTS))
    frame = pd.DataFrame(rows)
    seeds, spread = frame["seeds"], frame["sd"].where(frame["se"].notna())  # equal differences show no spread
    test, p_sign_flip = deciding.deciding_test(seeds), _sign_flips(frame)
    p = np.where(test == deciding.SIGN_FLIP, p_sign_flip, frame["p_t"])
    p_equivalence = deciding.two_one_sided(frame["difference"], frame["se"], seeds - 1, -margin, margin)
    frame = frame.assign(
        test=test,
        p=p,
        p_sign_flip=p_sign_flip,
        p_adjusted=_adjusted(frame, p),
        p_equivalence=p_equivalence,
        p_equivalence_adjusted=_adjusted(frame, p_equivalence),
        detectable=[float(deciding.detectable(sd, n, power)) for sd, n in zip(spread, seeds, strict=True)],
        seeds_needed=deciding.seeds_needed(margin, spread, power),
        seeds_needed_seen=deciding.seeds_needed(frame["difference"], spread, power),
    )
    reasons = [
        (deciding.ONE_SEED, seeds < 2),
        (deciding.IDENTICAL, frame["identical"]),
        (deciding.NO_SPREAD, frame["se"].isna()),
    ]
    return frame.assign(verdict=verdicts(frame, reasons))[list(CONTRASTS)]
