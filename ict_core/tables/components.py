"""Where the variance of a level comes from: base models, runs, problems, both together, sampling."""

import math

import pandas as pd

from ict_core.statistics import AVERAGE, BASE, BASE_MODEL, METRICS, PASS_METRICS, RERUN, SOURCES_OF_VARIANCE
from ict_core.tables._registry import TableDeclaration
from ict_core.tables._table import NONE, Table, TableSettings, in_order, number, percent

TABLE = TableDeclaration(
    place=16,
    title="Variance components",
    inputs=("components",),
    keys=("model", "variant", "benchmark", "metric", "source"),
    made="the two-way random model's estimate of one source of variance, from all runs and problems of the arm",
    module="statistics/_levels.py",
    doc="docs/statistics.md#which-interval-speaks-for-what",
    statistics="components",
)


def components_table(components: pd.DataFrame, settings: TableSettings) -> Table:
    orders = {"variant": [BASE, *settings.variants], "benchmark": [AVERAGE, *settings.mirrors]}
    orders["source"] = [BASE_MODEL, *SOURCES_OF_VARIANCE]
    numbers = in_order(components, model=list(components["model"]), metric=METRICS, **orders)
    chosen = numbers[(numbers["benchmark"] == AVERAGE) & numbers["metric"].isin(PASS_METRICS)]
    key = ["model", "metric", "variant"]
    nested, again = ((chosen["source"] == source).any() for source in (BASE_MODEL, RERUN))
    sources = [*([BASE_MODEL] if nested else []), *SOURCES_OF_VARIANCE, *([RERUN] if again else [])]
    rows = []
    for level, parts in chosen.groupby(key, sort=False):
        by_source = parts.set_index("source")[["sd", "contribution"]].reindex(sources)
        total = float(parts.loc[parts["source"] != RERUN, "contribution"].sum())
        shares = [f" ({number(100 * part / total, 0)} %)" if total else "" for part in by_source["contribution"]]
        sds = by_source["sd"]
        texts = [NONE if math.isnan(sd) else percent(sd) + share for sd, share in zip(sds, shares, strict=True)]
        rows.append((*level, *texts, percent(math.sqrt(total)) if total else NONE))
    readable = pd.DataFrame(rows, columns=[*key, *(s.replace(" x ", " × ") for s in sources), "level's error"])
    caption = (
        "Variance components of the average over the benchmarks: the standard deviation of each source in percent "
        "points and, in parentheses, its part of the level's variance. Seed: between training runs; problem: between "
        "problems; seed × problem: what a run does with a problem beyond both; sampling: the answers drawn. All but "
        "the seed's are root mean squares over the benchmarks. Level's error: the standard error of the level for new "
        "runs on new problems, the square root of the sum of the parts. An estimate below 0 is 0. "
        f"{NONE}: not estimable, as with one run, or the sampling of few answers, which then stays within "
        "seed × problem. Single benchmarks are in the CSV."
    )
    if nested:
        caption += (
            " Base model: between base models, each with several training seeds; the seed's is then what lies between "
            "trainings of one base model, and the base model's is not estimable with one of them."
        )
    if again:
        caption += (
            f" Rerun: between two trainings with the same random numbers, {NONE} where there were none; it lies within "
            "the seed's and adds nothing to the sum."
        )
    return Table(numbers, readable, caption, keys=2)
