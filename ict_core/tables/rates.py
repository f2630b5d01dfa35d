"""What equal tuning changes: every variant at its own learning rate beside all at one."""

from functools import partial

import pandas as pd

from ict_core.evidence import remarks
from ict_core.statistics import AVERAGE, BASE, GAIN, PASS_METRICS, both_ways
from ict_core.tables._frames import OF_BASE, OVER_BASE, REMARK, Table, TableSettings, gains, in_order, tuned_arms
from ict_core.tables._layout import NONE, by_row, percent_interval
from ict_core.tables._registry import TableDeclaration

TABLE = TableDeclaration(
    place=6,
    title="Own rates and one for all",
    inputs=("tuning", "levels", "contrasts", "shared_rate_levels", "shared_rate_contrasts"),
    keys=("model", "variant", "metric", "rates"),
    made="the mean over runs on the average, and its difference from the first baseline",
    compared=True,
    module="tables/rates.py",
    doc="docs/statistics.md#equal-tuning",
    runs=(),  # of two sets of cells: of each the runs are in its own frame
)

OWN, SHARED = "own", "shared"
_KEY = ["model", "variant", "metric"]
_COMPARED = ["difference", "difference_low", "difference_high", "p_adjusted", "p_equivalence_adjusted", "verdict"]


def _numbers(levels: pd.DataFrame, contrasts: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Levels of the average, and each variant's difference from the reference; NaN where there is none."""
    pairs = both_ways(contrasts)
    pairs = pairs[(pairs["baseline"] == reference) & pairs["metric"].isin(PASS_METRICS)]
    pairs = pairs.rename(columns={"low": "difference_low", "high": "difference_high"})
    pairs = pairs[[*_KEY, *_COMPARED]]
    average = levels[
        (levels["benchmark"] == AVERAGE) & levels["metric"].isin(PASS_METRICS) & (levels["variant"] != BASE)
    ]
    numbers = average[[*_KEY, "mean", "low", "high", "seeds", *GAIN]].merge(pairs, on=_KEY, how="left")
    return numbers.assign(verdict=numbers["verdict"].fillna("reference"))


def _borrowed(variant: str, tuned: str, settings: TableSettings) -> str:
    """That a variant trains at the rate of the one that it varies; nothing of a replica, which is that one again."""
    same = variant == tuned or settings.arms[variant].factor == "replica"
    return "" if same else f"the rate of {tuned}"


def rates_table(
    tuning: pd.DataFrame,
    levels: pd.DataFrame,
    contrasts: pd.DataFrame,
    shared_rate_levels: pd.DataFrame,
    shared_rate_contrasts: pd.DataFrame,
    settings: TableSettings,
) -> Table:
    """A row a model, metric and variant: level and difference from the first baseline at both rates."""
    reference = settings.baselines[0]
    views = {OWN: (levels, contrasts)}
    if len(shared_rate_levels):
        views[SHARED] = (shared_rate_levels, shared_rate_contrasts)
    columns = [*_KEY, "rates", "rate", "remark", "mean", "low", "high", "seeds"]
    columns += [*_COMPARED, *GAIN]
    if tuning.empty:
        caption = "The study chooses no learning rate: there is one comparison, at the recipe's."
        empty = pd.DataFrame(columns=columns)
        return Table("rates", empty, empty, caption, keys=0)
    chosen = tuning[tuning["chosen"]].groupby(["model", "variant"])["rate"].first()
    frames = [_numbers(*frames, reference).assign(rates=name) for name, frames in views.items()]
    numbers, said = pd.concat(frames, ignore_index=True), remarks(tuning)
    arms = tuned_arms(numbers, settings.arms, tuning)
    numbers = numbers.assign(rate=[chosen[arm] for arm in arms])
    numbers["remark"] = [
        "; ".join(filter(None, (_borrowed(variant, arm[1], settings), said[arm])))
        for variant, arm in zip(numbers["variant"], arms, strict=True)
    ]
    numbers.loc[numbers["rates"] == SHARED, ["rate", "remark"]] = settings.recipe_rate, ""
    orders = {"metric": PASS_METRICS, "variant": settings.variants, "rates": [OWN, SHARED]}
    numbers = in_order(numbers, model=list(levels["model"]), **orders)[columns]
    by_view = {name: numbers[numbers["rates"] == name].reset_index(drop=True) for name in views}
    readable = by_view[OWN][["model", "metric", "variant"]].astype(str)
    readable["own rate"] = by_view[OWN]["rate"].map("{:g}".format)
    readable["remark"] = by_view[OWN]["remark"].replace("", NONE)
    for name, rows in by_view.items():
        limits = ["difference", "difference_low", "difference_high"]
        readable[name] = by_row(rows, ["mean", "low", "high"], percent_interval)
        readable[f"Δ {name}"] = by_row(rows, limits, partial(percent_interval, signed=True))
        readable[f"{OVER_BASE}, {name}"] = gains(rows)
        readable[f"{name} verdict"] = rows["verdict"]
    both = ""
    if SHARED in by_view:
        same = (by_view[OWN]["verdict"] == by_view[SHARED]["verdict"]).map({True: NONE, False: "another verdict"})
        readable["changed"] = same
        both = (
            f" (the primary comparison), and all at the recipe's, {settings.recipe_rate:g}. The same seeds and base "
            "models in both; the tests and their correction are those of the contrasts"
        )
    caption = (
        "Average over the benchmarks in percent ± half its 95 % interval for new runs on new problems, and the "
        f"difference (Δ) from `{reference}` in points ± half the 95 % t-interval, paired by seed: every variant at its "
        f"own learning rate{both}.{OF_BASE} {REMARK}"
    )
    return Table("rates", numbers, readable, caption, keys=2)
