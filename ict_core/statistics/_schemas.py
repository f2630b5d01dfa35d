"""The schema of every frame that the statistics stage writes, for `records.write_frame` and `records.read_frame`.

Values and differences are shares in [0, 1] and [-1, 1]; a float is NaN where the quantity does not exist.
"""

_CELL = {"model": "str", "variant": "str", "seed": "int"}

_LEVEL = {"model": "str", "variant": "str", "benchmark": "str", "metric": "str"}
_CONTRAST = {"model": "str", "variant": "str", "baseline": "str"}

RUNS = {**_CELL, "benchmark": "str", "metric": "str", "value": "float"}
INTERVALS = ("two-way", "problems", "wilson", "none")  # how a level's interval was made
LEVELS = {
    **_LEVEL,
    "mean": "float",
    "low": "float",  # for new runs on new problems
    "high": "float",
    "df": "float",
    "interval": "str",
    "seeds_low": "float",  # for new runs on these problems: t over seeds
    "seeds_high": "float",
    "seeds": "int",
    "problems": "int",
}
FAMILIES = ("declared", "exploratory", "single benchmark")  # of tests that are corrected together
CONTRASTS = {
    **_CONTRAST,
    "benchmark": "str",
    "metric": "str",
    "family": "str",  # one of FAMILIES
    "seeds": "int",
    "difference": "float",  # variant - baseline
    "low": "float",  # t over seeds
    "high": "float",
    "two_way_low": "float",
    "two_way_high": "float",
    "sd": "float",  # of the paired differences
    "correlation": "float",
    "test": "str",  # the deciding one: paired t, sign-flip
    "p": "float",  # of the deciding test
    "p_t": "float",
    "p_sign_flip": "float",
    "p_floor": "float",  # the smallest p that a sign-flip of so many seeds can give
    "p_adjusted": "float",  # Holm within declared, Benjamini-Hochberg within each other family
    "p_equivalence": "float",  # the larger of two one-sided p values
    "detectable": "float",  # the smallest difference found with the declared power
    "seeds_needed": "float",  # to find a difference of the margin with that power
    "verdict": "str",  # one of deciding.VERDICTS
}
VIEWS = {
    **_CONTRAST,
    "metric": "str",
    "view": "str",
    "estimate": "float",
    "low": "float",
    "high": "float",
    "p": "float",
    "p_floor": "float",
    "coverage": "float",  # of the view's nominal 95 % interval at so many seeds, as the calibration found it
}
SOURCES_OF_VARIANCE = ("seed", "problem", "seed x problem", "sampling")
RERUN = "rerun (within seed)"  # a part of the seed's, which no sum may count again; where a same-seed rerun was run
COMPONENTS = {
    **_LEVEL,
    "source": "str",
    "sd": "float",  # of the source itself
    "contribution": "float",  # to the variance of the level: a share squared
}
_OVER_SEEDS = {"mean": "float", "low": "float", "high": "float", "seeds": "int"}  # of intervals.over_seeds
QUANTITIES = {**_CELL, "quantity": "str", "value": "float"}  # of evidence.measures
QUANTITY_MEANS = {"model": "str", "variant": "str", "quantity": "str", **_OVER_SEEDS}
CURVES = {**_CELL, "share": "float", "score": "float"}  # of a run the mean sorted score u at a share of the tokens
AGREEMENT = {**_CELL, "set": "str", "regime": "str", "measure": "str", "value": "float"}  # of theory.update
AGREEMENT_MEANS = {"model": "str", "variant": "str", "set": "str", "regime": "str", "measure": "str", **_OVER_SEEDS}
VARIANTS = ("all", "shown")  # whose tokens a model's states are: of all variants, of those that the figures show
SINGLE_LOGIT = {  # of theory.approximation.by_regime
    "variants": "str",  # one of VARIANTS
    "states": "str",
    "regime": "str",
    "shift": "float",
    "measure": "str",
    **_OVER_SEEDS,
}
SINGLE_LOGIT_BINS = {  # of theory.approximation.BINNED
    "variants": "str",
    "states": "str",
    "measure": "str",
    "start": "float",
    "end": "float",
    **_OVER_SEEDS,
}
RULE_MEANS = {"model": "str", "rollouts": "str", "rule": "str", "quantity": "str", **_OVER_SEEDS}  # of evidence.rules
FORK_MEANS = {"model": "str", "rollouts": "str", "rule": "str", "when": "str", "measure": "str", **_OVER_SEEDS}
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
