"""The contrasts: variants against baselines, paired by seed, with tests, corrections and a verdict each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ict_core.errors import UserError
from ict_core.statistics import deciding
from ict_core.statistics.arms import Arms, VariantsByModel, common_seeds, difference
from ict_core.statistics.intervals import ROUNDING, Floats, over_runs, two_way, without_spread
from ict_core.statistics.schemas import AVERAGE, BASE, CONTRASTS, DECLARED, EXPLORATORY, METRICS, SINGLE_BENCHMARK


@dataclass(frozen=True)
class Comparisons:
    """What a study compares, and how strictly; a model skips the pairs of which it did not run both variants."""

    baselines: Sequence[str]  # the variants to test against, in order
    declared: Mapping[tuple[str, str, str], str]  # the ledger's (variant, baseline, metric), and the question of each
    varied: Sequence[tuple[str, str]]  # variant and the one that it varies, exploratory where they are no other pair
    margin: float  # of equivalence, a share above 0; also the difference that `seeds_needed` is for
    power: float  # of `detectable` and `seeds_needed`

    def pairs(self, variants: Sequence[str]) -> list[tuple[str, str]]:
        """The (variant, baseline) pairs of a model that ran `variants`: the usual ones, then the declared, the varied.

        Usual is each trained variant against each baseline. Two variants meet once: as declared; else the one that
        varies the other, or the later baseline, comes first.
        """
        ran = set(variants) - {BASE}
        rank = {baseline: i for i, baseline in enumerate(self.baselines)}
        last = len(rank)
        declared = [(v, b) for v, b, _ in self.declared if v in ran and b in ran]
        usual = [(v, b) for v in variants for b in self.baselines if {v, b} <= ran and rank.get(v, last) > rank[b]]
        turned = [(b, v) if (b, v) in declared and (v, b) not in declared else (v, b) for v, b in usual]
        pairs = list(dict.fromkeys([*turned, *declared]))
        met = {frozenset(pair) for pair in pairs}
        return pairs + [(v, other) for v, other in self.varied if {v, other} <= ran and {v, other} not in met]


def correlation(ours: Floats, theirs: Floats) -> float:
    """Pearson's correlation of two arms' runs, each of shape (seeds,): what the pairing bought.

    NaN below three seeds (two points always correlate to +-1) and where one arm's runs are all equal.
    """
    if ours.size < 3 or without_spread(ours) or without_spread(theirs):
        return float("nan")
    return float(np.corrcoef(ours, theirs)[0, 1])


def _runs(
    arms: Mapping[str, Arms], variants_by_model: VariantsByModel, comparisons: Comparisons
) -> list[dict[str, Any]]:
    """What each contrast's own runs say, before any correction; `runs`, `se`, `identical` are for what follows."""
    metrics = dict.fromkeys([*METRICS, *(metric for _, _, metric in comparisons.declared)])
    pairs = [(model, *pair) for model, variants in variants_by_model.items() for pair in comparisons.pairs(variants)]
    rows = []
    for (model, variant, baseline), metric in product(pairs, [metric for metric in metrics if metric in arms]):
        ours, theirs = common_seeds(arms[metric][model, variant], arms[metric][model, baseline])
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
                    "family": undeclared if declared is None else DECLARED,
                    "question": declared or "",
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
    """p of each contrast's sign-flip test (NaN for one seed), contrasts of as many seeds together."""
    p = np.full(len(frame), np.nan)
    for seeds in set(frame["seeds"]) - {1}:
        rows = np.flatnonzero(frame["seeds"] == seeds)
        p[rows] = deciding.sign_flip(np.stack(frame["runs"].iloc[rows].to_list()))
    return p


def _verdicts(frame: pd.DataFrame) -> NDArray[np.str_]:
    """What was found, and where nothing was, the reason."""
    toward = np.where(frame["difference"] > 0, deciding.BETTER, deciding.WORSE)
    verdict = deciding.finding(toward, frame["p"], frame["p_adjusted"], frame["p_equivalence_adjusted"])
    reasons = [deciding.ONE_SEED, deciding.IDENTICAL, deciding.NO_SPREAD]
    holds = [frame["seeds"] < 2, frame["identical"], frame["se"].isna()]
    return np.where(verdict == deciding.NONE_SEEN, np.select(holds, reasons, default=deciding.NONE_SEEN), verdict)


def _adjusted(frame: pd.DataFrame, p: Floats) -> Floats:
    """The p of all contrasts, shape (rows,), corrected within their families, the declared ones within a question."""
    adjusted = np.full(len(frame), np.nan)
    tests = [(model, runs.tobytes()) for model, runs in zip(frame["model"], frame["runs"], strict=True)]
    for rows in frame.groupby(["family", "question"]).indices.values():
        if frame["family"].iloc[rows[0]] == DECLARED:
            adjusted[rows] = deciding.holm_of_distinct(p[rows], [tests[row] for row in rows])
        else:
            adjusted[rows] = deciding.benjamini_hochberg(p[rows])
    return adjusted


def contrast_frame(
    arms: Mapping[str, Arms], variants_by_model: VariantsByModel, comparisons: Comparisons
) -> pd.DataFrame:
    """Every pair's contrast on every benchmark and their average.

    The declared family holds the declared pairs' declared metrics on the average; Holm corrects those of one question,
    over all models, and counts contrasts of the same runs once (an arm may be another to the bit). All other rows of
    the average are one exploratory family, those of single benchmarks another, each corrected by
    Benjamini and Hochberg's procedure. Which test decides, `deciding.py` says. The first that holds of these is
    the verdict: "better" or "worse", corrected p below `ALPHA`; "equivalent", p of two one-sided t-tests within
    +-margin, corrected likewise among those of its family, below `ALPHA`; "one seed"; "identical", every paired
    difference 0 up to rounding; "no spread", all of them equal and not 0, so that no t-test can be made; "not
    confirmed", p below `ALPHA` before the correction alone; "none seen".

    The frame is of `CONTRASTS`, from the arms of each metric: METRICS and the declared ones, as far as they are there.

    Raises:
        UserError: a margin or power out of range, or two arms without a common seed (named).
    """
    margin, power = comparisons.margin, comparisons.power
    if margin <= 0:
        raise UserError(f"margin {margin}: must lie above 0")
    rows = _runs(arms, variants_by_model, comparisons)
    if not rows:
        return pd.DataFrame(columns=list(CONTRASTS))
    frame = pd.DataFrame(rows)
    seeds, spread = frame["seeds"], frame["sd"].where(frame["se"].notna())  # equal differences tell no spread
    test, p_sign_flip = deciding.deciding_test(seeds), _sign_flips(frame)
    p = np.where(test == deciding.SIGN_FLIP, p_sign_flip, frame["p_t"])
    within = deciding.two_one_sided(frame["difference"], frame["se"], seeds - 1, -margin, margin)
    frame = frame.assign(
        test=test,
        p=p,
        p_sign_flip=p_sign_flip,
        p_adjusted=_adjusted(frame, p),
        p_equivalence=within,
        p_equivalence_adjusted=_adjusted(frame, within),
        detectable=[float(deciding.detectable(sd, n, power)) for sd, n in zip(spread, seeds, strict=True)],
        seeds_needed=deciding.seeds_needed(margin, spread, power),
        seeds_needed_seen=deciding.seeds_needed(frame["difference"], spread, power),
    )
    return frame.assign(verdict=_verdicts(frame))[list(CONTRASTS)]
