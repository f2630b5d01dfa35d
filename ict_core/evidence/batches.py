"""The batch as a factor: what part of the baseline's gain each rule keeps, at every size of a batch."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from ict_core.evidence.stored import Settings
from ict_core.evidence.values import differences_of
from ict_core.statistics.intervals import over_runs, ratio_of_means
from ict_core.statistics.schemas import BASE, BATCHES, PASS_METRICS


class Batched(NamedTuple):
    """A variant with its batch, and the baseline's variant that trains with the same one."""

    rule: str  # the variant that it differs from in the batch alone; itself at the recipe's
    variant: str
    reference: str
    prompts: int  # a step
    steps: int


def batches_of(settings: Settings) -> Iterator[Batched]:
    """Every variant of the rules whose batch the study varies; none where no variant declares it as its factor."""
    recipe, methods = settings.whole["training"], settings.whole["methods"]
    own = {v: methods[v].get("batch") or recipe for v in settings.variants}
    batch = {v: (int(own[v]["prompts_per_step"]), int(own[v]["steps"])) for v in settings.variants}
    rule = {v: arm.of if arm.factor == "batch" else v for v, arm in settings.arms.items()}
    varied = {rule[v] for v, arm in settings.arms.items() if arm.factor == "batch"}
    baseline = settings.baselines[0]
    references = {batch[v]: v for v in settings.variants if rule.get(v, v) == baseline}
    for v in settings.variants:
        if rule.get(v, v) in varied and batch[v] in references:
            yield Batched(rule.get(v, v), v, references[batch[v]], *batch[v])


def batch_frame(settings: Settings, runs: pd.DataFrame, log: pd.DataFrame) -> pd.DataFrame:
    """The frame `statistics.BATCHES` of every model that ran a variant, its reference and the base model.

    The part kept is a ratio of gains over the base model, paired by seed, with Fieller's limits; the tokens trained in
    a step are the mean over the steps that select and over the runs, of `statistics.schemas.RUNS` and
    `records.STUDY_LOG`.
    """
    steps = log[log["selecting"]]
    of_runs = (steps["kept_share"] * steps["tokens"]).groupby([steps[n] for n in ("model", "variant", "seed")]).mean()
    tokens = of_runs.groupby(["model", "variant"]).mean()
    rows = []
    for of in batches_of(settings):
        for metric in PASS_METRICS:
            gains, most = (differences_of(runs, variant, BASE, metric) for variant in (of.variant, of.reference))
            for model in [model for model in gains if model in most]:
                ours, theirs = pd.concat([gains[model], most[model]], axis=1, join="inner").to_numpy(np.float64).T
                found = over_runs(ours).of_difference(), ratio_of_means(ours, theirs)
                limits = [float(x) for estimate in found for x in (estimate.mean, estimate.low, estimate.high)]
                rows.append((model, *of, metric, tokens[model, of.variant], len(ours), *limits))
    return pd.DataFrame(rows, columns=list(BATCHES))
