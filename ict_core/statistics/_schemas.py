"""The frames that the statistics stage writes: their schemas, names that they share, and which runs and pairs meet.

The schemas are for `records.write_frame` and `records.read_frame`. Values and differences are shares in [0, 1] and
[-1, 1]; a float is NaN where the quantity does not exist. Runs are paired by seed, the same for every contrast, claim
and figure.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd

from ict_core.store import BASE_VARIANT, cell_folder


def _columns(kind: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, kind)


_CELL = {"model": "str", "variant": "str", "seed": "int"}
_LEVEL = _columns("str", "model", "variant", "benchmark", "metric")
_OVER_SEEDS = {"mean": "float", "low": "float", "high": "float", "seeds": "int"}  # of intervals.over_seeds

RUNS = {**_CELL, "benchmark": "str", "metric": "str", "value": "float"}
INTERVALS = ("two-way", "problems", "wilson", "none")  # how a level's interval was made
LEVELS = {
    **_LEVEL,
    **_columns("float", "mean", "low", "high", "df"),  # the interval for new runs on new problems
    "interval": "str",
    **_columns("float", "seeds_low", "seeds_high"),  # for new runs on these problems: t over seeds
    **_columns("int", "seeds", "problems"),
}
FAMILIES = ("declared", "exploratory", "single benchmark")  # of tests that are corrected together
CONTRASTS = {
    **_columns("str", "model", "variant", "baseline", "benchmark", "metric"),
    "family": "str",  # one of FAMILIES
    "seeds": "int",
    **_columns("float", "difference", "low", "high"),  # variant - baseline, with t over seeds
    **_columns("float", "two_way_low", "two_way_high"),
    **_columns("float", "sd", "correlation"),  # of the paired differences; of the two arms' runs
    "test": "str",  # the deciding one: paired t, sign-flip
    **_columns("float", "p", "p_t", "p_sign_flip"),  # p is of the deciding test
    "p_floor": "float",  # the smallest p that a sign-flip of so many seeds can give
    "p_adjusted": "float",  # Holm within declared, Benjamini-Hochberg within each other family
    "p_equivalence": "float",  # the larger of two one-sided p values
    "detectable": "float",  # the smallest difference found with the declared power
    "seeds_needed": "float",  # to find a difference of the margin with that power
    "verdict": "str",  # one of deciding.VERDICTS
}
VIEWS = {
    **_columns("str", "model", "variant", "baseline", "metric", "view"),
    **_columns("float", "estimate", "low", "high", "p", "p_floor"),
    "coverage": "float",  # of the view's nominal 95 % interval at so many seeds, as the calibration found it
}
SOURCES_OF_VARIANCE = ("seed", "problem", "seed x problem", "sampling")
RERUN = "rerun (within seed)"  # a part of the seed's, which no sum may count again; where a same-seed rerun was run
# sd is of the source itself, contribution to the variance of the level: a share squared
COMPONENTS = {**_LEVEL, "source": "str", "sd": "float", "contribution": "float"}
QUANTITIES = {**_CELL, "quantity": "str", "value": "float"}  # of evidence.measures
QUANTITY_MEANS = {**_columns("str", "model", "variant", "quantity"), **_OVER_SEEDS}
CURVES = {**_CELL, "share": "float", "score": "float"}  # of a run the mean sorted score u at a share of the tokens
AGREEMENT = {**_CELL, **_columns("str", "set", "regime", "measure"), "value": "float"}  # of theory.update
AGREEMENT_MEANS = {**_columns("str", "model", "variant", "set", "regime", "measure"), **_OVER_SEEDS}
VARIANTS = ("all", "shown")  # whose tokens a model's states are: of all variants, of those that the figures show
_STATES = {"variants": "str", "states": "str"}  # one of VARIANTS, and which states
SINGLE_LOGIT = {**_STATES, "regime": "str", "shift": "float", "measure": "str", **_OVER_SEEDS}  # of theory.by_regime
SINGLE_LOGIT_BINS = {**_STATES, "measure": "str", "start": "float", "end": "float", **_OVER_SEEDS}  # of theory.BINNED
RULE_MEANS = {**_columns("str", "model", "rollouts", "rule", "quantity"), **_OVER_SEEDS}  # of evidence.rules
FORK_MEANS = {**_columns("str", "model", "rollouts", "rule", "when", "measure"), **_OVER_SEEDS}
STATISTICS = {
    "runs": RUNS,
    "levels": LEVELS,
    "contrasts": CONTRASTS,
    "views": VIEWS,
    "components": COMPONENTS,
    "quantities": QUANTITIES,
    "quantity_means": QUANTITY_MEANS,
    "curves": CURVES,
    "agreement": AGREEMENT,
    "agreement_means": AGREEMENT_MEANS,
    "single_logit": SINGLE_LOGIT,
    "single_logit_bins": SINGLE_LOGIT_BINS,
    "rule_means": RULE_MEANS,
    "fork_means": FORK_MEANS,
}
"""Every frame of the stage by its name, which is that of its file."""

BASE = BASE_VARIANT  # evaluated once, no training seeds
AVERAGE = "average"  # the benchmark name of the macro-average: every benchmark weighs the same, whatever its size
CELL = list(_CELL)
FACTORS = {
    "score": "score",
    "keep": "tokens kept",
    "percent": "share kept, %",
    "reference": "reference distribution",
    "scope": "scope of the threshold",
    "normaliser": "normaliser",
    "warmup_steps": "warm-up, steps",
    "group_size": "group size",
    "tau_h": "τ_h",
    "random_reward": "chance of a random reward",
    "replica": "random numbers",
}
"""What a variant's declared factor is called, in the order in which they are shown."""


def cell_name(cell: pd.Series) -> str:
    """model/variant/seed-n of a row that has these columns."""
    return cell_folder(cell["model"], cell["variant"], cell["seed"])


def selector_and_percent(variant: str) -> tuple[str, int] | None:
    """A variant named <selector>-<percent> as these two; None for any other name."""
    named = re.fullmatch(r"(.+)-(\d+)", variant)
    return (named[1], int(named[2])) if named else None


def shown_variants(frame: pd.DataFrame, model: str, variants: Sequence[str]) -> list[str]:
    """The variants that a model ran, in the order in which they are shown: base first, then as given."""
    ran = set(frame.loc[frame["model"] == model, "variant"].unique())
    return [v for v in dict.fromkeys([BASE, *variants]) if v in ran]


def limits_by(means: pd.DataFrame, key: Sequence[str]) -> dict[tuple[Any, ...], tuple[float, float, float]]:
    """The columns mean, low, high by the values of the key's columns."""
    keys, limits = (means[list(names)].itertuples(index=False, name=None) for names in (key, ["mean", "low", "high"]))
    return dict(zip(keys, limits, strict=True))


def seed_range(numbers: pd.Series, noun: str = "training seed") -> str:
    """Some arms' numbers of seeds in words: "3 training seeds", or "2 to 3 training seeds" where they differ."""
    if numbers.empty:
        return f"no {noun}s"
    least, most = int(numbers.min()), int(numbers.max())
    span = f"{most}" if least == most else f"{least} to {most}"
    return f"{span} {noun}{'' if most == 1 else 's'}"


_OPPOSITE = {"better": "worse", "worse": "better"}
_SWAPPED = {"variant": "baseline", "low": "high", "two_way_low": "two_way_high"}
_TURNED = _SWAPPED | {other: name for name, other in _SWAPPED.items()}
_SIGNED = ("difference", "low", "high", "two_way_low", "two_way_high")


def shared_seeds(ours: Sequence[int], theirs: Collection[int]) -> list[int]:
    """The seeds that both have, in the order of `ours`: the runs with these are compared."""
    return [seed for seed in ours if seed in theirs]


def paired_differences(ours: pd.Series, theirs: pd.Series) -> pd.Series:
    """Ours less theirs, run by run, from series by seed; the seeds of which both have a value (not NaN), rising."""
    return (ours - theirs).dropna().sort_index()


def both_ways(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Contrasts of the average and each one turned round, so that a pair is found whichever of the two comes first.

    The columns stay, those of `schemas.CONTRASTS`, one row a (model, variant, baseline, metric): differences, intervals
    and verdicts are those of variant - baseline; what does not tell the two apart, such as p, is left as it was.
    """
    ours = contrasts[contrasts["benchmark"] == AVERAGE]
    turned = ours.rename(columns=_TURNED)[list(ours.columns)]
    turned = turned.assign(verdict=turned["verdict"].replace(_OPPOSITE), **{name: -turned[name] for name in _SIGNED})
    return pd.concat([ours, turned], ignore_index=True).drop_duplicates(["model", "variant", "baseline", "metric"])
