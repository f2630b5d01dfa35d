"""The cost of the jobs: tokens, seconds and memory of every cell's stages."""

import pandas as pd

from ict_core.statistics.schemas import BASE
from ict_core.store.records import STAGES
from ict_core.tables.table import NONE, Table, TableSettings, in_order, number

_HEADS = {
    "tokens": ("tokens", 0),
    "seconds": ("seconds", 1),
    "tokens_per_second": ("tokens a second", 0),
    "peak_memory_mib": ("peak memory, MiB", 0),
    "peak_gpu_memory_mib": ("peak GPU memory, MiB", 0),
}


def compute_table(compute: pd.DataFrame, levels: pd.DataFrame, settings: TableSettings) -> Table:
    """The mean and range over the seeds for each model, variant and stage; models in the order of the levels.

    Tokens per second are NaN where a job has no tokens or no measurable time.
    """
    variants = [BASE, *settings.variants]
    by_seed = compute.sort_values("seed", kind="stable")
    numbers = in_order(by_seed, model=list(levels["model"]), variant=variants, stage=STAGES)
    timed = numbers.where((numbers["tokens"] > 0) & (numbers["seconds"] > 0))
    numbers = numbers.assign(tokens_per_second=timed["tokens"] / timed["seconds"])
    numbers = numbers[["model", "variant", "seed", "stage", *_HEADS]]

    def range_of(values: pd.Series, decimals: int) -> str:
        mean, low, high = (number(float(v), decimals) for v in (values.mean(), values.min(), values.max()))
        return mean if low == high else f"{mean} ({low} to {high})"

    key, rows = ["model", "variant", "stage"], []
    for job, cells in numbers.groupby(key, sort=False):
        costs = [range_of(cells[cost], decimals) for cost, (_, decimals) in _HEADS.items()]
        rows.append((*job, str(len(cells)), *costs))
    readable = pd.DataFrame(rows, columns=[*key, "runs", *(head for head, _ in _HEADS.values())])
    stages = set(numbers["stage"])
    words = {"pretrain": "pretrained", "fetch": "fetched", "supervised_start": "trained on worked solutions"}
    base = " or ".join(word for stage, word in words.items() if stage in stages)
    caption = (
        "Cost of the jobs: the mean over the training seeds with the least and the largest in parentheses. Tokens are "
        "those trained on in pretraining, those of the rollouts in training, those that the job itself sampled in "
        "generation (0 where an earlier job had sampled every answer), none in grading; seconds are wall time, loading "
        f"included; memory is the peak of the job's process. A base model is {base} once, for all methods. {NONE}: not "
        f"measured, as without a GPU. The {len(numbers)} jobs of this table together: "
        f"{number(float(numbers['seconds'].sum()) / 3600, 2)} hours, "
        f"{number(float(numbers['tokens'].sum()) / 1e6, 1)} million tokens. Jobs at other learning rates than a "
        "method's own (those tried, or one that all share) are not in it; the overview has the time of all jobs."
    )
    return Table(numbers, readable, caption, keys=2)
