"""The batch as a factor: what share of the baseline's gain each rule keeps, at every batch size."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from ict_core.evidence.stored import Settings
from ict_core.evidence.values import differences_of, together
from ict_core.statistics.intervals import over_runs, ratio_of_means, with_shared
from ict_core.statistics.schemas import AVERAGE, BASE, BATCHES, PASS_METRICS


class Batched(NamedTuple):
    """A variant with its batch, and the baseline's variant that trains with the same batch."""

    rule: str  # the variant from which it differs in the batch alone; itself with the recipe's batch
    variant: str
    reference: str
    prompts: int  # per step
    steps: int


def batches_of(settings: Settings) -> Iterator[Batched]:
    """Every variant of the rules whose batch the study varies; none if no variant declares the batch as its factor."""
    recipe, methods = settings.whole["training"], settings.whole["methods"]
    per_variant = {v: methods[v].get("batch") or recipe for v in settings.variants}
    batch = {v: (int(per_variant[v]["prompts_per_step"]), int(per_variant[v]["steps"])) for v in settings.variants}
    rule = {v: arm.of if arm.factor == "batch" else v for v, arm in settings.arms.items()}
    varied = {rule[v] for v, arm in settings.arms.items() if arm.factor == "batch"}
    baseline = settings.baselines[0]
    references = {batch[v]: v for v in settings.variants if rule.get(v, v) == baseline}
    for v in settings.variants:
        if rule.get(v, v) in varied and batch[v] in references:
            yield Batched(rule.get(v, v), v, references[batch[v]], *batch[v])


def batch_frame(
    settings: Settings, runs: pd.DataFrame, log: pd.DataFrame, base: Mapping[tuple[str, str, str], float]
) -> pd.DataFrame:
    """A frame of `statistics.schemas.BATCHES`, for every model that ran a variant, its reference and the base model.

    `kept` is a ratio of gains over the base model, paired by seed, with Fieller's limits. `tokens` is the mean number
    of trained tokens over the steps at which the rule selects, then over the runs. `runs` is a frame of
    `statistics.schemas.RUNS`, `log` one of `records.STUDY_LOG`; `base` are the `base_variances`.
    """
    steps = log[log["selecting"]]
    by_run = (steps["kept_share"] * steps["tokens"]).groupby([steps[n] for n in ("model", "variant", "seed")]).mean()
    tokens = by_run.groupby(["model", "variant"]).mean()
    rows = []
    for arm in batches_of(settings):
        for metric in PASS_METRICS:
            gains, reference = (differences_of(runs, variant, BASE, metric) for variant in (arm.variant, arm.reference))
            for model, pairs in together([gains, reference]).items():
                part, total = pairs.to_numpy(np.float64).T
                shared = base.get((model, AVERAGE, metric), 0.0)
                gain = with_shared(over_runs(part), shared).of_difference()
                estimates = gain, ratio_of_means(part, total, shared)
                limits = [float(x) for estimate in estimates for x in (estimate.mean, estimate.low, estimate.high)]
                rows.append((model, *arm, metric, tokens[model, arm.variant], len(part), *limits))
    return pd.DataFrame(rows, columns=list(BATCHES))
