"""The effect of equal tuning: every variant at its own learning rate, and all variants at one."""

import pandas as pd

from ict_core.evidence.tuning import remarks
from ict_core.statistics.schemas import BASE, GAIN, PASS_METRICS
from ict_core.tables._comparison import OF_LEVELS, compared, side_by_side
from ict_core.tables.table import DIFFERENCE, MEAN, NONE, OF_BASE, REMARK, Table, TableSettings, in_order, tuned_arms

OWN, SHARED = "own", "shared"


def _numbers(levels: pd.DataFrame, contrasts: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Every trained variant of every model beside the reference."""
    arms = levels.loc[levels["variant"] != BASE, ["model", "variant"]].drop_duplicates()
    return compared(levels, contrasts, arms.assign(reference=reference))


def _borrowed(variant: str, tuned: str, settings: TableSettings) -> str:
    """A remark if a variant trains at a rate tuned for another; empty for a replica, which repeats that variant."""
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
    reference = settings.baselines[0]
    columns = ["model", "variant", "metric", "rates", "rate", "remark", *MEAN, "seeds", *DIFFERENCE]
    columns += ["p_adjusted", "p_equivalence_adjusted", "verdict", *GAIN]
    if tuning.empty:
        caption = "The study chooses no learning rate: there is one comparison, at the recipe's."
        empty = pd.DataFrame(columns=columns)
        return Table(empty, empty, caption, keys=0)
    own_rates = _numbers(levels, contrasts, reference).assign(rates=OWN)
    shared_rate = _numbers(shared_rate_levels, shared_rate_contrasts, reference).assign(rates=SHARED)
    numbers, remark_of = pd.concat([own_rates, shared_rate], ignore_index=True), remarks(tuning)
    chosen = tuning[tuning["chosen"]].groupby(["model", "variant"])["rate"].first()
    arms = tuned_arms(numbers, settings.arms, tuning)
    numbers = numbers.assign(rate=[chosen[arm] for arm in arms])
    numbers["remark"] = [
        "; ".join(filter(None, (_borrowed(variant, arm[1], settings), remark_of[arm])))
        for variant, arm in zip(numbers["variant"], arms, strict=True)
    ]
    numbers.loc[numbers["rates"] == SHARED, ["rate", "remark"]] = settings.recipe_rate, ""
    orders = {"metric": PASS_METRICS, "variant": settings.variants, "rates": [OWN, SHARED]}
    numbers = in_order(numbers, model=list(levels["model"]), **orders)[columns]
    sides = {name: numbers[numbers["rates"] == name].reset_index(drop=True) for name in (OWN, SHARED)}
    at_own, at_shared = sides.values()
    if at_shared.empty:
        del sides[SHARED]
    readable = at_own[["model", "metric", "variant"]].astype(str)
    readable["own rate"] = at_own["rate"].map("{:g}".format)
    readable["remark"] = at_own["remark"].replace("", NONE)
    readable = pd.concat([readable, side_by_side(sides)], axis=1)
    both_text = ""
    if SHARED in sides:
        readable["changed"] = (at_own["verdict"] == at_shared["verdict"]).map({True: NONE, False: "another verdict"})
        both_text = (
            f" (the primary comparison), and all at the recipe's, {settings.recipe_rate:g}. The same seeds and base "
            "models in both; the tests and their correction are those of the contrasts"
        )
    caption = (
        f"Average over the benchmarks in percent ± half its 95 % interval {OF_LEVELS}, and the "
        f"difference (Δ) from `{reference}` in points ± half the 95 % t-interval, paired by seed: every variant at its "
        f"own learning rate{both_text}.{OF_BASE} {REMARK}"
    )
    return Table(numbers, readable, caption, keys=2)
