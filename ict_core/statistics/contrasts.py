"""The contrasts: variants against baselines, paired by seed, with tests, corrections and a verdict each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ict_core.errors import UserError
from ict_core.statistics.arms import Arm, Arms, common_seeds, difference
from ict_core.statistics.deciding import (
    ALPHA,
    BETTER,
    IDENTICAL,
    NO_SPREAD,
    ONE_SEED,
    UNDERPOWERED,
    WORSE,
    deciding_p,
    deciding_test,
    finding,
    p_of_sign_flip,
)
from ict_core.statistics.equivalence import two_one_sided
from ict_core.statistics.intervals import ROUNDING, over_runs, without_spread
from ict_core.statistics.multiplicity import benjamini_hochberg, holm
from ict_core.statistics.names import AVERAGE, BASE
from ict_core.statistics.permutation import sign_flip_floor
from ict_core.statistics.power import detectable, seeds_needed
from ict_core.statistics.schemas import CONTRASTS, FAMILIES
from ict_core.statistics.two_way import two_way

METRICS = ("pass@1", "pass@4", "total")  # contrasted for every pair, where the study has them

Declared = Sequence[tuple[str, str, str]]


def pairs(
    variants: Sequence[str], baselines: Sequence[str], declared: Declared, varied: Sequence[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """The (variant, baseline) pairs of one model: each trained variant against each baseline, then the declared ones.

    Two variants meet once: as declared; else the one that varies the other, or the later baseline, comes first.

    Args:
        variants: that the model ran.
        baselines: in order.
        declared: (variant, baseline, metric); pairs that the model did not run are left out.
        varied: (variant, the one that it varies); likewise.
    """
    ran = set(variants) - {BASE}
    rank = {baseline: i for i, baseline in enumerate(baselines)}
    wanted = list(dict.fromkeys((v, b) for v, b, _ in declared if v in ran and b in ran))
    usual = [(v, b) for v in variants for b in baselines if {v, b} <= ran and rank.get(v, len(baselines)) > rank[b]]
    turned = [(b, v) if (b, v) in wanted and (v, b) not in wanted else (v, b) for v, b in usual]
    found = list(dict.fromkeys([*turned, *wanted]))
    return found + [(v, of) for v, of in varied if {v, of} <= ran and not {(v, of), (of, v)} & set(found)]


def correlation(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    """Pearson's correlation of two arms' runs, each of shape (seeds,): what the pairing bought.

    NaN below three seeds (two points always correlate to +-1) and where one arm's runs are all equal.
    """
    if ours.size < 3 or without_spread(ours) or without_spread(theirs):
        return float("nan")
    return float(np.corrcoef(ours, theirs)[0, 1])


def _row(ours: Arm, theirs: Arm, gap: Arm, benchmark: str) -> dict[str, Any]:
    """What a contrast's own runs say, before any correction; `se` and `identical` are for the verdict."""
    runs = gap.runs(benchmark)
    by_seeds, by_both = over_runs(runs), two_way(gap.of(benchmark))
    several = runs.size > 1
    return {
        "seeds": runs.size,
        "difference": float(by_seeds.mean),
        "low": float(by_seeds.low),
        "high": float(by_seeds.high),
        "two_way_low": float(by_both.low),
        "two_way_high": float(by_both.high),
        "sd": float(runs.std(ddof=1)) if several else float("nan"),
        "correlation": correlation(ours.runs(benchmark), theirs.runs(benchmark)),
        "p_t": float(by_seeds.p),
        "runs": runs,  # for the sign-flip
        "p_floor": sign_flip_floor(runs.size),
        "se": float(by_seeds.se),
        "identical": bool((np.abs(runs) <= ROUNDING).all()),
    }


def _sign_flips(runs: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """p of each contrast's sign-flip test, NaN for one seed; those of as many seeds are made together."""
    p, seeds = np.full(len(runs), np.nan), np.array(list(map(len, runs)))
    for count in np.unique(seeds[seeds > 1]):
        same = np.flatnonzero(seeds == count)
        p[same] = p_of_sign_flip([runs[row] for row in same])
    return p


def _verdicts(frame: pd.DataFrame) -> NDArray[np.str_]:
    """What was found, and where nothing was, the reason."""
    toward = np.where(frame["difference"] > 0, BETTER, WORSE)
    found = finding(toward, frame["p_adjusted"], frame["p_equivalence"])
    reasons = {ONE_SEED: frame["seeds"] < 2, IDENTICAL: frame["identical"], NO_SPREAD: frame["se"].isna()}
    reason = np.select(list(reasons.values()), list(reasons), default=UNDERPOWERED)
    return np.where(found == UNDERPOWERED, reason, found)


def _decided(frame: pd.DataFrame, margin: float, power: float) -> pd.DataFrame:
    """The frame with its deciding tests, corrections, equivalence, power and verdicts."""
    p = deciding_p(frame["seeds"], frame["p_t"], frame["p_sign_flip"])
    adjusted = np.full(len(frame), np.nan)
    for family in FAMILIES:
        rows = (frame["family"] == family).to_numpy()
        adjusted[rows] = holm(p[rows]) if family == "declared" else benjamini_hochberg(p[rows])
    sd = frame["sd"].where(frame["se"].notna()).to_numpy(np.float64)  # equal differences say nothing about their spread
    seeds = frame["seeds"].to_numpy()
    smallest = np.full(len(frame), np.nan)
    for count in np.unique(seeds):
        smallest[seeds == count] = detectable(sd[seeds == count], int(count), power, ALPHA)
    frame = frame.assign(
        test=deciding_test(frame["seeds"]),
        p=p,
        p_adjusted=adjusted,
        p_equivalence=two_one_sided(frame["difference"], frame["se"], frame["seeds"] - 1, -margin, margin),
        detectable=smallest,
        seeds_needed=seeds_needed(margin, sd, power, ALPHA),
    )
    return frame.assign(verdict=_verdicts(frame))


def contrast_frame(
    arms: Mapping[str, Arms],
    shown: Mapping[str, Sequence[str]],
    baselines: Sequence[str],
    declared: Declared,
    varied: Sequence[tuple[str, str]],
    margin: float,
    power: float,
) -> pd.DataFrame:
    """Every pair's contrast on every benchmark and their average.

    The declared family holds the declared pairs' declared metrics on the average, over all models; Holm corrects it.
    All other rows of the average are one exploratory family, those of single benchmarks another, each corrected by
    Benjamini and Hochberg's procedure. Which test decides, `statistics.deciding` says. The first that holds of these is
    the verdict: "better" or "worse", corrected p below 0.05; "equivalent", two one-sided t-tests within +-margin at
    5 %, uncorrected; "one seed"; "identical", every paired difference 0 up to rounding; "no spread", all of them equal
    and not 0, so that no t-test can be made; "underpowered".

    Args:
        arms: of each metric; the METRICS and the declared ones are contrasted as far as they are there.
        shown: of each model its variants in the order in which they are shown.
        baselines: the variants to test against, in order.
        declared: (variant, baseline, metric); a pair that a model did not run is skipped for it.
        varied: (variant, the one that it varies), contrasted as exploratory where they are no other pair.
        margin: of equivalence, a share above 0; also the difference that `seeds_needed` is for.
        power: of `detectable` and `seeds_needed`.

    Returns:
        A frame of `schemas.CONTRASTS`.

    Raises:
        UserError: a margin or power out of range, or two arms without a common seed (named).
    """
    if margin <= 0:
        raise UserError(f"margin {margin}: must lie above 0")
    rows = []
    metrics = [m for m in METRICS if m in arms]
    metrics += [m for m in dict.fromkeys(metric for _, _, metric in declared) if m in arms and m not in metrics]
    for model, variants in shown.items():
        for variant, baseline in pairs(variants, baselines, declared, varied):
            for metric in metrics:
                ours, theirs = common_seeds(arms[metric][model, variant], arms[metric][model, baseline])
                gap = difference(ours, theirs)
                for benchmark in gap.benchmarks:
                    family = "declared" if (variant, baseline, metric) in declared else "exploratory"
                    family = family if benchmark == AVERAGE else "single benchmark"
                    key = {"model": model, "variant": variant, "baseline": baseline, "benchmark": benchmark}
                    key |= {"metric": metric, "family": family}
                    rows.append({**key, **_row(ours, theirs, gap, benchmark)})
    if not rows:
        return pd.DataFrame(columns=list(CONTRASTS))
    frame = pd.DataFrame(rows)
    frame["p_sign_flip"] = _sign_flips(frame["runs"].to_list())
    return _decided(frame, margin, power)[list(CONTRASTS)]
