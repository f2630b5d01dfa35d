"""What the jobs took: tokens, seconds and memory of every cell's stages."""

from collections.abc import Sequence

import pandas as pd

from ict_core.statistics import BASE
from ict_core.store.records import STAGES
from ict_core.tables._frames import Table, TableSettings, in_order
from ict_core.tables._layout import NONE, number, whole_range
from ict_core.tables._registry import TableDeclaration

TABLE = TableDeclaration(
    place=14,
    title="Compute",
    inputs=("compute", "levels"),
    keys=("model", "variant", "seed", "stage"),
    made="what the job's own manifest says that it took",
    module="tables/compute.py",
    doc="docs/architecture.md#files-of-a-study",
    source="compute",
)

_HEADS = {
    "tokens": ("tokens", 0),
    "seconds": ("seconds", 1),
    "tokens_per_second": ("tokens a second", 0),
    "peak_memory_mib": ("peak memory, MiB", 0),
    "peak_gpu_memory_mib": ("peak GPU memory, MiB", 0),
}


def compute_numbers(compute: pd.DataFrame, models: Sequence[str], variants: Sequence[str]) -> pd.DataFrame:
    """The jobs of a frame of `records.COMPUTE` in order; a rate without tokens or measurable time is NaN."""
    by_seed = compute.sort_values("seed", kind="stable")
    ordered = in_order(by_seed, model=models, variant=[BASE, *variants], stage=STAGES)
    timed = ordered.where((ordered["tokens"] > 0) & (ordered["seconds"] > 0))
    rate = timed["tokens"] / timed["seconds"]
    return ordered.assign(tokens_per_second=rate)[["model", "variant", "seed", "stage", *_HEADS]]


def compute_table(compute: pd.DataFrame, levels: pd.DataFrame, settings: TableSettings) -> Table:
    """The mean over the seeds of a model, variant and stage with the least and the largest; models as in the levels."""
    numbers = compute_numbers(compute, list(levels["model"]), settings.variants)
    key, rows = ["model", "variant", "stage"], []
    for job, cells in numbers.groupby(key, sort=False):
        costs = [whole_range(cells[cost], decimals) for cost, (_, decimals) in _HEADS.items()]
        rows.append((*job, str(len(cells)), *costs))
    readable = pd.DataFrame(rows, columns=[*key, "runs", *(head for head, _ in _HEADS.values())])
    stages = set(numbers["stage"])
    words = {"pretrain": "pretrained", "fetch": "fetched", "supervised_start": "trained on worked solutions"}
    base = " or ".join(word for stage, word in words.items() if stage in stages)
    caption = (
        "Cost of the jobs: the mean over the training seeds with the least and the largest in parentheses. Tokens are "
        "those trained on in pretraining, those of the rollouts in training, those that the job itself sampled in "
        "generation (0 where an earlier job had sampled every answer), none in grading; seconds are wall time, loading "
        f"included; memory is the peak of the job's process. The base model is {base} once. {NONE}: not measured, as "
        f"without a GPU. All {len(numbers)} jobs together: {number(float(numbers['seconds'].sum()) / 3600, 2)} hours, "
        f"{number(float(numbers['tokens'].sum()) / 1e6, 1)} million tokens."
    )
    return Table("compute", numbers, readable, caption, keys=2)
