"""The statistics stage's part that reads no scores: of training logs, token samples and shadow scoring."""

from collections.abc import Sequence

import pandas as pd

from ict_core.evidence._measures import QUANTITIES, run_quantities, sorted_curves
from ict_core.evidence._rules import fork_means, rule_means
from ict_core.statistics import SINGLE_LOGIT, SINGLE_LOGIT_BINS, VARIANTS, over_seeds
from ict_core.theory import BINNED, agreement, by_regime, over_sources, sources


def single_logit_frames(
    tokens: pd.DataFrame, variants: Sequence[str], shown: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first-order statement against the exact change, by shift and by bins (`theory.approximation`).

    Args:
        tokens: a frame of `records.STUDY_TOKENS`.
        variants: all of the study; `shown`: those that its figures show.

    Returns:
        Frames of `schemas.SINGLE_LOGIT` and `schemas.SINGLE_LOGIT_BINS`.
    """
    frames: dict[frozenset[str], tuple[pd.DataFrame, pd.DataFrame]] = {}  # the two are often the same variants
    by_shift, by_bin = [], []
    for name, chosen in zip(VARIANTS, (variants, shown), strict=True):
        rows = tokens[tokens["variant"].isin(list(chosen))]
        ran = frozenset(rows["variant"])
        if ran not in frames:
            states = sources(rows)
            bins = [over_sources(rule, states).assign(measure=measure) for measure, rule in BINNED.items()]
            frames[ran] = over_sources(by_regime, states), pd.concat(bins, ignore_index=True)
        by_shift.append(frames[ran][0].assign(variants=name))
        by_bin.append(frames[ran][1].assign(variants=name))
    return pd.concat(by_shift)[list(SINGLE_LOGIT)], pd.concat(by_bin)[list(SINGLE_LOGIT_BINS)]


def token_frames(
    log: pd.DataFrame,
    tokens: pd.DataFrame,
    shadow: pd.DataFrame,
    variants: Sequence[str],
    shown: Sequence[str],
    baseline: str,
) -> dict[str, pd.DataFrame]:
    """Every frame of `schemas.STATISTICS` that is made without scores, by its name.

    Args:
        log, tokens, shadow: frames of `records.STUDY_LOG`, `records.STUDY_TOKENS` and `records.STUDY_SHADOW`.
        variants: the trained variants, in the study's order; `shown`: those that its figures show.
        baseline: the variant on whose rollouts all rules are shown.
    """
    tokens = tokens[tokens["variant"].isin(list(variants))]
    quantities = run_quantities(list(QUANTITIES), variants, log, tokens)
    updates = agreement(tokens)
    single_logit, bins = single_logit_frames(tokens, variants, shown)
    return {
        "quantities": quantities,
        "quantity_means": over_seeds(quantities, ["model", "variant", "quantity"]),
        "curves": sorted_curves(tokens),
        "agreement": updates,
        "agreement_means": over_seeds(updates, ["model", "variant", "set", "regime", "measure"]),
        "single_logit": single_logit,
        "single_logit_bins": bins,
        "rule_means": rule_means(shadow, baseline),
        "fork_means": fork_means(shadow, tokens, baseline),
    }
