"""A bench of rules: each rule's difference from the first baseline and its controls at both rates, and its rank."""

from collections.abc import Mapping

import pandas as pd

from ict_core.evidence.bench import BENCH_METRIC, MEAN_ONE, SAME_SIGN, bench_controls, controls_of, rule_arms
from ict_core.evidence.stored import ArmVariation
from ict_core.statistics.deciding import IDENTICAL, detectable
from ict_core.statistics.pairing import both_ways, seed_range, span
from ict_core.statistics.schemas import ALPHA, AVERAGE, BASE, GAIN
from ict_core.tables._comparison import OF_LEVELS
from ict_core.tables.table import (
    NONE,
    OF_BASE,
    OVER_BASE,
    Table,
    TableSettings,
    by_row,
    gains,
    in_order,
    means,
    number,
    percent,
    percent_interval,
    tuned_arms,
    wide,
)

BASELINE, RANDOM, SIGN, SCALED = "baseline", "random", "same sign", "mean one"
_KEY = ["model", "variant"]
_OWN_ADVANTAGE = "method.advantage"
NOT_OF_THE_WEIGHTS = ("entropy_bonus", "normaliser", "surrogate")
"""Factors that leave the token weights alone: such a variant keeps the same tokens as its reference."""
_COLUMNS = [
    *_KEY,
    *("against", "kind", "rates", "difference", "low", "high", "p_adjusted", "p_equivalence_adjusted", "verdict"),
    "seeds",
    *("rate", "level", "level_low", "level_high", *GAIN, "effective_share", "positive_share", "h1_change"),
    *("rank", "rank_low", "rank_high", "ranked"),
]


def compared_with(baseline: str, arms: Mapping[str, ArmVariation]) -> dict[tuple[str, str], str]:
    """(rule, variant it is compared with) -> what that variant is: the baseline, or a kind of control of the rule."""
    controls = controls_of(arms)
    pairs = {(rule, baseline): BASELINE for rule in arms if rule not in controls and rule != baseline}
    for control, rule in controls.items():
        key = arms[control].values()[1]
        pairs[rule, control] = SCALED if key == MEAN_ONE else SIGN if key.endswith(SAME_SIGN) else RANDOM
    return pairs


def _differences(contrasts: pd.DataFrame, pairs: Mapping[tuple[str, str], str], rates: str) -> pd.DataFrame:
    rows = both_ways(contrasts)
    rows = rows[rows["metric"] == BENCH_METRIC].rename(columns={"baseline": "against"})
    kind = [pairs.get(pair, "") for pair in zip(rows["variant"], rows["against"], strict=True)]
    rows = rows.assign(kind=kind, rates=rates)
    return rows.loc[rows["kind"] != "", [*_COLUMNS[: _COLUMNS.index("seeds") + 1], "sd"]]


def _quantity(means: pd.DataFrame, quantity: str) -> pd.DataFrame:
    rows = means.loc[means["quantity"] == quantity, [*_KEY, "mean"]]
    return rows.rename(columns={"mean": quantity})


def _weights(name: str, arms: Mapping[str, ArmVariation]) -> str:
    """A text that is the same for all arms that weigh tokens alike."""
    arm = arms.get(name)
    if arm is None:
        return name
    if arm.factor in NOT_OF_THE_WEIGHTS:
        return _weights(arm.of, arms)
    keys = [item for item in arm.different if item[0].split(".")[1] not in NOT_OF_THE_WEIGHTS]
    return repr((arm.of, keys))


def _of_all_arms(measured: pd.DataFrame, arms: Mapping[str, ArmVariation]) -> pd.DataFrame:
    """The measurements of rules, repeated for every arm with the same weights, except arms with their own advantage.

    The rollouts on which the rules were measured have the baseline's advantages.
    """
    weights = {name: _weights(name, arms) for name in {*arms, *measured["variant"]}}
    own_advantage = {name for name, arm in arms.items() if any(key == _OWN_ADVANTAGE for key, _, _ in arm.different)}
    distinct = measured.assign(weights=measured["variant"].map(weights)).drop_duplicates(["model", "weights"])
    by_arm = pd.DataFrame(
        [(name, weights[name]) for name in arms if name not in own_advantage], columns=["variant", "weights"]
    )
    return distinct.drop(columns="variant").merge(by_arm, on="weights").drop(columns="weights")


def _of_arms(settings: TableSettings, frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    levels, log, tuning = frames["levels"], frames["log"], frames["tuning"]
    level = levels[(levels["benchmark"] == AVERAGE) & (levels["metric"] == BENCH_METRIC) & (levels["variant"] != BASE)]
    level = level.rename(columns={"mean": "level", "low": "level_low", "high": "level_high"})
    arms = level[[*_KEY, "level", "level_low", "level_high", *GAIN]]
    ranks = frames["ranks"]
    ranks = ranks[ranks["metric"] == BENCH_METRIC].rename(
        columns={"low": "rank_low", "high": "rank_high", "arms": "ranked"}
    )
    rate = tuning[tuning["chosen"].astype(bool)].groupby(_KEY)["rate"].first()
    share = log[log["selecting"]].groupby(_KEY)["kept_share"].mean().rename("effective_share").reset_index()
    change = _quantity(frames["quantity_means"], "h1_change")
    positive_share = _quantity(frames["rule_means"].rename(columns={"rule": "variant"}), "positive_share")
    positive_share = _of_all_arms(positive_share, settings.arms)
    for frame in (ranks[[*_KEY, "rank", "rank_low", "rank_high", "ranked"]], share, change, positive_share):
        arms = arms.merge(frame, on=_KEY, how="left")
    return arms.assign(rate=[rate.get(arm, settings.recipe_rate) for arm in tuned_arms(arms, settings.arms, tuning)])


def _found(difference: float, low: float, high: float, verdict: str) -> str:
    """A difference with its interval; a verdict that holds after the correction is marked."""
    if verdict == IDENTICAL:
        return IDENTICAL
    mark = {"better": " ↑", "worse": " ↓", "equivalent": " ≈"}.get(verdict, "")
    return percent_interval(difference, low, high, signed=True) + mark


def bench_table(
    *, contrasts: pd.DataFrame, shared_rate_contrasts: pd.DataFrame, settings: TableSettings, **frames: pd.DataFrame
) -> Table:
    """One row per rule, each model's highest pass@4 first. The keyword arguments are the table's inputs, by name."""
    baseline = settings.baselines[0]
    if not bench_controls(settings):
        empty = pd.DataFrame(columns=_COLUMNS)
        return Table(empty, empty, "The study runs no rule beside its control: it is no bench.", keys=0)
    pairs = compared_with(baseline, rule_arms(settings.arms, settings.validity))
    views = {"own": contrasts, "shared": shared_rate_contrasts}
    numbers = pd.concat([_differences(frame, pairs, rates) for rates, frame in views.items()], ignore_index=True)
    numbers = numbers.merge(_of_arms(settings, frames), on=_KEY, how="left")
    numbers = in_order(
        numbers,
        model=frames["levels"]["model"],
        level=sorted(numbers["level"].dropna(), reverse=True),
        variant=settings.variants,
        rates=views,
        kind=[BASELINE, RANDOM, SIGN, SCALED],
        against=settings.variants,
    )
    caption = f"{_caption(numbers, baseline, settings)}{_detectable(numbers, settings)}"
    numbers = numbers[_COLUMNS]
    if sources := settings.whole.get("sources"):
        numbers = numbers.assign(source=[sources.get(rule, NONE) for rule in numbers["variant"]])
        caption += (
            " Source: what the rule was written from, code, its paper, a summary of either, or nothing published."
        )
    return Table(numbers, _readable(numbers, baseline), caption, keys=1)


def _detectable(numbers: pd.DataFrame, settings: TableSettings) -> str:
    """A sentence, with a space before it, on the smallest gain over the baseline that Holm's first step would find."""
    rows = numbers[(numbers["rates"] == "own") & (numbers["kind"] == BASELINE)]
    alpha = ALPHA / max(1, len(rows))
    values = [detectable(sd, int(n), settings.power, alpha) for sd, n in zip(rows["sd"], rows["seeds"], strict=True)]
    sizes = pd.Series(values, dtype=float).dropna()
    if sizes.empty:
        return ""
    return (
        f" A gain over `{settings.baselines[0]}` of {percent(sizes.median())} points, the median over the rules "
        f"({percent(sizes.min())} to {percent(sizes.max())}), is the smallest that the first step of Holm's correction "
        f"over {len(rows)} tests would find with a power of {number(100 * settings.power, 0)} %, if a t-test decided."
    )


def _readable(numbers: pd.DataFrame, baseline: str) -> pd.DataFrame:
    heads = {
        f"own {BASELINE}": f"Δ {baseline}",
        f"own {RANDOM}": "Δ random",
        f"own {SIGN}": "Δ random, same sign",
        f"own {SCALED}": "Δ mean one",
        f"shared {BASELINE}": f"Δ {baseline}, shared rate",
    }
    found = numbers["rates"] + " " + numbers["kind"]
    for head in (f"own {SIGN}", f"shared {BASELINE}"):
        if not found.eq(head).any():
            del heads[head]
    texts = by_row(numbers, ["difference", "low", "high", "verdict"], _found)
    cells = numbers.assign(head=found, text=texts)
    cells = cells.groupby([*_KEY, "head"], sort=False)["text"].agg("; ".join).reset_index()  # of several controls
    cells = wide(cells, _KEY, "head", heads)
    rules = numbers.drop_duplicates(_KEY).reset_index(drop=True)

    def rank(mean: float, low: float, high: float) -> str:
        return NONE if pd.isna(mean) else f"{mean:.0f} ({low:.0f}–{high:.0f})"

    columns = {
        **rules[_KEY].rename(columns={"variant": "rule"}),
        "own rate": rules["rate"].map("{:g}".format),
        BENCH_METRIC: means(rules, ["level", "level_low", "level_high"]),
        OVER_BASE: gains(rules),
        **cells[list(heads.values())],
        "rank": by_row(rules, ["rank", "rank_low", "rank_high"], rank),
        "effective share": rules["effective_share"].map(percent),
        "A > 0": rules["positive_share"].map(percent),
        "ΔH1 (%)": [number(100 * change, 0, signed=True) for change in rules["h1_change"]],
    }
    return pd.DataFrame(columns | ({"source": rules["source"]} if "source" in rules else {}))


def _caption(numbers: pd.DataFrame, baseline: str, settings: TableSettings) -> str:
    ranked = numbers["ranked"].dropna()
    ranks = f" of {span(ranked)}" if len(ranked) else ""
    sign = ""
    if (numbers["kind"] == SIGN).any():
        sign = "; same sign: among its tokens with A > 0, among those with A < 0 and among those with A = 0"
    return (
        f"Each rule at {'its own' if settings.chooses_rates else 'the shared'} learning rate: pass@4 on the average "
        "over the benchmarks in percent, its difference (Δ) "
        f"from `{baseline}` and from its controls in points ± half the 95 % t-interval over "
        f"{seed_range(numbers['seeds'])}, paired by seed.{OF_BASE} Random: the same weights in random order over the "
        f"sequence, the group or the batch, as its file says{sign}; mean one: the rule's weights divided by their "
        f"mean. ↑ ↓: better or worse after Holm's correction over all rules against `{baseline}`, or over all against "
        f"their controls (adjusted p < {ALPHA}); ≈: within ±{percent(settings.margin)} points by two one-sided tests, "
        f"corrected likewise. Rank{ranks} by pass@4, in brackets the ranks that the runs leave open: all of these hold "
        "together with 95 % confidence. Effective share: (Σw)² / (T Σw²) while the rule selects, in percent; A > 0: "
        f"the share of the kept tokens with a positive advantage, on the rollouts of `{baseline}`; ΔH1: the relative "
        f"change of the entropy from the first to the last fifth of the steps. Levels are {OF_LEVELS}, "
        "differences for new runs on these."
    )
