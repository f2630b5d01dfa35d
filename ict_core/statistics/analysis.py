"""The statistics stage: from a study's scores to the frames that tables, figures and claims read."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pandas as pd

from ict_core.errors import UserError
from ict_core.statistics.arms import arms_of, check_samples, count_matrices, frame_of_arms
from ict_core.statistics.contrasts import Comparisons, contrast_frame
from ict_core.statistics.levels import base_variances, level_frame
from ict_core.statistics.metrics import metrics_of
from ict_core.statistics.pairing import shown_variants
from ict_core.statistics.schemas import BASE


def analyse(
    scores: pd.DataFrame, variants: Sequence[str], comparisons: Comparisons, averaged: Collection[str] | None = None
) -> dict[str, pd.DataFrame]:
    """The frames runs, levels and contrasts of a study, from its scores (a frame of `records.SCORES`).

    `STATISTICS` has their schemas under the same names.

    Args:
        variants: the study's trained variants in the order in which they are shown; at least one model ran each.
        averaged: the benchmarks that the average is over; None: all.

    Raises:
        UserError: the scores are incomplete, have too few samples for a declared metric, or lack a variant; a baseline
            is not a trained variant; two arms have no common seed; or the margin or the power is out of range.
    """
    counts = count_matrices(scores)
    unknown = [b for b in comparisons.baselines if b not in variants or b == BASE]
    if unknown:
        raise UserError(f"baselines {unknown} are no trained variants of the study")
    absent = sorted(set(variants) - {BASE} - set(scores["variant"].unique()))
    if absent:
        raise UserError(f"scores: no run of {', '.join(absent)}; run the cells or take the variant out of the study")
    variants_by_model = {
        model: shown_variants(scores, model, variants) for model in dict.fromkeys(key[0] for key in counts)
    }
    trained = [set(names) - {BASE} for names in variants_by_model.values()]
    declared = {d: q for d, q in comparisons.declared.items() if any({d[0], d[1]} <= names for names in trained)}
    comparisons = replace(comparisons, declared=declared)
    metrics = list(dict.fromkeys([*metrics_of(scores), *(metric for _, _, metric in declared)]))
    check_samples(scores, metrics)
    arms = {metric: arms_of(counts, metric, averaged) for metric in metrics}
    noise = base_variances(counts, metrics, averaged)
    one_sample = frozenset(key for key, matrix in counts.items() if (matrix.n == 1).all())
    return {
        "runs": frame_of_arms(arms),
        "levels": level_frame(arms, noise, variants_by_model, one_sample),
        "contrasts": contrast_frame(arms, variants_by_model, comparisons),
    }
