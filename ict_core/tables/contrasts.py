"""The contrasts: every variant against every baseline, paired by training seed, Holm over the whole table."""

import math
from collections.abc import Sequence

import pandas as pd

from ict_core.errors import UserError
from ict_core.statistics.multiplicity import holm
from ict_core.statistics.paired import Paired, paired_t
from ict_core.statistics.runs import AVERAGE, BASE, by_seed, shown_variants
from ict_core.tables.layout import SIGNIFICANCE, by_row, number, p_value, percent_interval, seed_range
from ict_core.tables.write import Table

KS = (1, 4)
COLUMNS = ["model", "variant", "baseline", "metric", "difference", "low", "high"]
COLUMNS += ["p", "p_holm", "correlation", "seeds", "verdict"]
VERDICTS_RESOLVED = ("higher", "lower")


def _pairs(variants: Sequence[str], baselines: Sequence[str]) -> list[tuple[str, str]]:
    """(variant, baseline), each unordered pair once: of two baselines the later stands against the earlier."""
    unknown = [b for b in baselines if b not in variants or b == BASE]
    if unknown:
        raise UserError(f"baselines {unknown} are not trained for every model; `{BASE}` has no seeds to pair")
    rank = {baseline: i for i, baseline in enumerate(baselines)}
    trained = [v for v in variants if v != BASE]
    return [(v, b) for v in trained for b in baselines if rank.get(v, len(baselines)) > rank[b]]


def _verdict(test: Paired, p_holm: float) -> str:
    if math.isnan(test.p):
        return "no test: one seed" if test.seeds == 1 else "no test: equal differences"
    if p_holm >= SIGNIFICANCE:
        return "not resolved"
    return "higher" if test.difference > 0 else "lower"


def contrasts(runs: pd.DataFrame, variants: Sequence[str], baselines: Sequence[str]) -> pd.DataFrame:
    """Paired t-tests of the macro-average's pass@1 and pass@4; all rows together are the family that Holm corrects.

    Args:
        runs: a frame of `statistics.runs.RUNS` with k = 1 and 4.
        variants: the study's variants in order.
        baselines: the variants to test against; two baselines are tested against each other once.

    Returns:
        A frame of :data:`COLUMNS`; `difference`, `low`, `high` (95 %) are shares, variant - baseline. `verdict` is
        "higher" or "lower" where Holm's p is below 0.05, else "not resolved" or why there is no test.

    Raises:
        UserError: a baseline that is no trained variant, an arm without runs, or arms with different seeds.
    """
    keys, tests = [], []
    for model in runs["model"].unique():
        for variant, baseline in _pairs(shown_variants(runs, model, variants), baselines):
            for k in KS:
                ours, theirs = (by_seed(runs, model, arm, AVERAGE, k) for arm in (variant, baseline))
                keys.append((model, variant, baseline, f"pass@{k}"))
                tests.append(paired_t(ours, theirs))
    adjusted = holm([test.p for test in tests])
    rows = [
        (*key, t.difference, t.low, t.high, t.p, p_holm, t.correlation, t.seeds, _verdict(t, p_holm))
        for key, t, p_holm in zip(keys, tests, adjusted, strict=True)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def contrasts_table(tests: pd.DataFrame) -> Table:
    """The readable contrasts from the frame of :func:`contrasts`."""
    shown = tests[["model", "metric", "variant", "baseline"]].assign(
        difference=by_row(
            tests, ["difference", "low", "high"], lambda mean, low, high: percent_interval(mean, low, high, signed=True)
        ),
        p=by_row(tests, ["p"], p_value),
        **{"Holm p": by_row(tests, ["p_holm"], p_value)},
        r=by_row(tests, ["correlation"], lambda r: number(r, 2)),
        seeds=tests["seeds"].astype(str),
        verdict=tests["verdict"],
    )
    order = {value: i for i, value in enumerate([*tests["model"].unique(), *tests["metric"].unique()])}
    shown = shown.sort_values(["model", "metric"], key=lambda column: column.map(order), kind="stable")
    made, resolved = tests["p"].notna().sum(), tests["verdict"].isin(VERDICTS_RESOLVED).sum()
    caption = (
        "Difference variant − baseline of the average over the benchmarks, in percent points ± half the 95 % "
        f"t-interval; two-sided paired t-tests over {seed_range(tests['seeds'])}, paired by seed. Holm's correction "
        f"runs over the whole table: {len(tests)} declared tests, of which {made} could be made and {resolved} "
        f"{'is' if resolved == 1 else 'are'} resolved (Holm p < {SIGNIFICANCE}). "
        "r: correlation of the paired runs; it is left out below three seeds."
    )
    return Table("contrasts", tests, shown, caption, keys=2)
