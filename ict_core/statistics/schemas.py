"""The schemas of the frames that the statistics stage writes, and the names that they share; imports no pandas.

The schemas are for `records.write_frame` and `records.read_frame`. Values and differences are shares in [0, 1] and
[-1, 1]; a float is NaN where the quantity does not exist.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from ict_core.store.layout import BASE_VARIANT, LEARNING_CURVE

ROUNDING = 1e-12  # values (shares, about 1) closer than this differ by rounding alone
ALPHA = 0.05  # a corrected p below this is significant
SIGN_FLIP_FROM = 10  # seeds from which the sign-flip test decides; with fewer its p stays too large after a correction

Metric = Literal["pass@1", "pass@4", "total"]
METRICS: tuple[Metric, ...] = get_args(Metric)  # in the main table, contrasted for every pair
PASS_METRICS = METRICS[:2]  # where tests or levels of the average are shown


def _columns(kind: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, kind)


_CELL = {"model": "str", "variant": "str", "seed": "int"}
_OVER_SEEDS = {"mean": "float", "low": "float", "high": "float", "seeds": "int"}  # as `intervals.over_seeds` gives them

RUNS = {**_CELL, "benchmark": "str", "metric": "str", "value": "float"}
GAIN = ("gain", "gain_low", "gain_high")  # variant - base model, t over seeds: descriptive, in no family of tests
LEVELS = {
    **_columns("str", "model", "variant", "benchmark", "metric"),
    **_columns("float", "mean", "low", "high", "df"),  # the interval for new runs on new problems
    "interval": "str",  # how it was made: two-way, problems, wilson, none
    **_columns("float", "seeds_low", "seeds_high"),  # for new runs on these problems: t over seeds
    **_columns("int", "seeds", "problems"),
    **_columns("float", *GAIN),
}
DECLARED, EXPLORATORY, SINGLE_BENCHMARK = FAMILIES = ("declared", "exploratory", "single benchmark")
"""The families of tests that are corrected together."""
CONTRASTS = {
    **_columns("str", "model", "variant", "baseline", "benchmark", "metric"),
    "family": "str",  # one of FAMILIES
    "question": "str",  # if declared, the family of claims whose question it answers; else empty
    "seeds": "int",
    **_columns("float", "difference", "low", "high"),  # variant - baseline, with a t interval over seeds
    **_columns("float", "two_way_low", "two_way_high"),
    **_columns("float", "sd", "correlation"),  # of the paired differences; of the two arms' runs
    "test": "str",  # the deciding test: paired t, sign-flip
    **_columns("float", "p", "p_t", "p_sign_flip"),  # p is that of the deciding test
    "p_floor": "float",  # the smallest p that a sign-flip test of these seeds can give
    "p_adjusted": "float",  # Holm within a declared question, Benjamini-Hochberg within each other family
    **_columns("float", "p_equivalence", "p_equivalence_adjusted"),  # the larger one-sided p; corrected likewise
    "detectable": "float",  # the smallest difference found with the declared power
    "seeds_needed": "float",  # to find a difference of the margin with that power
    "seeds_needed_seen": "float",  # to find a difference as large as the one seen
    "verdict": "str",  # a finding, or why there is none: a constant of `deciding.py`
}
QUANTITIES = {**_CELL, "quantity": "str", "value": "float"}  # of evidence.measures
QUANTITY_MEANS = {**_columns("str", "model", "variant", "quantity"), **_OVER_SEEDS}
CURVES = {**_CELL, "share": "float", "score": "float"}  # a run's mean sorted score u at a share of the tokens
AGREEMENT = {**_CELL, **_columns("str", "set", "regime", "measure"), "value": "float"}  # of theory.update.agreement
AGREEMENT_MEANS = {**_columns("str", "model", "variant", "set", "regime", "measure"), **_OVER_SEEDS}
ALL = "all"  # states of all variants' tokens; older token studies also have rows of the variants in the figures
_STATES = {"variants": "str", "states": "str"}  # `variants` is ALL; `states` names the source
SINGLE_LOGIT = {**_STATES, "regime": "str", "shift": "float", "measure": "str", **_OVER_SEEDS}  # single_logit.by_regime
SINGLE_LOGIT_BINS = {**_STATES, "measure": "str", **_columns("float", "start", "end"), **_OVER_SEEDS}
"""Of `single_logit.breaking_shift`."""
RULE_MEANS = {**_columns("str", "model", "rollouts", "rule", "quantity"), **_OVER_SEEDS}  # of measures.rule_means
FORK_MEANS = {**_columns("str", "model", "rollouts", "rule", "when", "measure"), **_OVER_SEEDS}
LEARNING_CURVE_MEANS = {**_columns("str", "model", "variant"), "step": "int", **_OVER_SEEDS}  # of the correct share
RANKS = {
    **_columns("str", "model", "variant", "metric"),
    **_columns("int", "rank", "low", "high", "arms", "seeds"),  # among `arms` arms by `seeds` seeds; 1 is the best
}
VALIDITY = {
    **_columns("str", "gate", "model", "of"),  # of evidence.validity; `of` says in words what the value is of
    "arms": "str",  # the variants whose runs enter, separated by commas; may be empty
    **_columns("float", "value", "low", "high", "p"),  # shares; a ratio for the gate `kept`, a learning rate for `rate`
    "seeds": "int",
    **_columns("str", "asked", "outcome", "because"),
}
BATCHES = {
    **_columns("str", "model", "rule", "variant", "reference"),  # of evidence.batches
    **_columns("int", "prompts", "steps"),
    "metric": "str",
    "tokens": "float",  # trained per step, the mean
    "seeds": "int",
    **_columns("float", *GAIN),
    **_columns("float", "kept", "kept_low", "kept_high"),  # as a ratio to the gain of the reference
}
SHARED_RATE = "shared_rate_"
"""Prefix of frames of the variants trained again, all at the recipe's learning rate; empty without such runs."""
STATISTICS = {
    "runs": RUNS,
    "levels": LEVELS,
    "contrasts": CONTRASTS,
    "ranks": RANKS,
    f"{SHARED_RATE}runs": RUNS,
    f"{SHARED_RATE}levels": LEVELS,
    f"{SHARED_RATE}contrasts": CONTRASTS,
    "validity": VALIDITY,
    "batches": BATCHES,
    "quantities": QUANTITIES,
    "quantity_means": QUANTITY_MEANS,
    "curves": CURVES,
    "agreement": AGREEMENT,
    "agreement_means": AGREEMENT_MEANS,
    "single_logit": SINGLE_LOGIT,
    "single_logit_bins": SINGLE_LOGIT_BINS,
    "rule_means": RULE_MEANS,
    "fork_means": FORK_MEANS,
    "learning_curve_means": LEARNING_CURVE_MEANS,
}
"""Every frame of the stage by its name, which is also that of its file."""


def statistics_of(settings: Mapping[str, Any]) -> list[str]:
    """The names of the frames that a study with these settings has."""
    return [name for name in STATISTICS if settings.get(LEARNING_CURVE) or name != "learning_curve_means"]


BASE = BASE_VARIANT  # not trained: its seeds are the numbers of the base models
AVERAGE = "average"  # the benchmark name of the macro-average: every benchmark weighs the same, whatever its size
CELL = list(_CELL)
FACTORS = {
    "score": "score",
    "keep": "tokens kept",
    "percent": "share kept, %",
    "reference": "reference distribution",
    "scope": "scope of the threshold",
    "threshold": "threshold",
    "normaliser": "normaliser",
    "warmup_steps": "warm-up, steps",
    "group_size": "group size",
    "batch": "batch",
    "tau_h": "τ_h",
    "random_reward": "chance of a random reward",
    "replica": "random numbers",
    "surrogate": "surrogate",
    "advantage": "advantage",
    "entropy_bonus": "entropy bonus",
    "control": "control",
}
"""The display names of the factors that variants declare, in the order in which they are shown."""
