"""How much of the questions the base models can complete; made only where the probe was run."""

from collections.abc import Mapping

import pandas as pd

from ict_core.tables._frames import Table, in_order, wide
from ict_core.tables._layout import rare_percent
from ict_core.tables._registry import TableDeclaration

TABLE = TableDeclaration(
    place=None,
    title="Completion of partial questions",
    inputs=(),
    keys=("model", "benchmark", "percent"),
    made="the mean over problems of how a base model completes partial questions",
    module="contamination/_completion_probe.py",
    doc="docs/contamination.md",
    source="completion_probe",
    runs=(),
)


def completion_probe_table(probes: Mapping[str, pd.DataFrame], benchmarks: Mapping[str, object]) -> Table:
    """The means of the models' frames of `records.COMPLETION_PROBE`; models and benchmarks in the order given."""
    every = pd.concat([frame.assign(model=model) for model, frame in probes.items()], ignore_index=True)
    means = every.groupby(["model", "benchmark", "percent"], sort=False).agg(
        problems=("problem", "size"), exact=("exact", "mean"), rouge_l=("rouge_l", "mean")
    )
    numbers = in_order(means.reset_index(), model=probes, benchmark=benchmarks)
    heads = {"exact": "exact, {} %", "rouge_l": "ROUGE-L, {} %"}
    rows = pd.concat(
        numbers.assign(text=numbers[measure].map(rare_percent), head=numbers["percent"].map(head.format))
        for measure, head in heads.items()
    )
    columns = [head.format(percent) for head in heads.values() for percent in sorted(numbers["percent"].unique())]
    shown = wide(rows, ["model", "benchmark", "problems"], "head", columns).astype(str)
    caption = (
        "The partial-prompt completion probe of Wu et al. (arXiv:2507.10532): the base model is given the first part "
        "of each question, of the length in the heading, and decodes greedily. Exact: in how many percent it continues "
        "with the very rest. ROUGE-L: mean overlap of the longest common subsequence, in percent. A high exact share "
        "says that the model has seen the questions; generated questions can be guessed as far as their template goes."
    )
    return Table("completion_probe", numbers, shown, caption, keys=1, title=TABLE.title)
