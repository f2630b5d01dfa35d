"""Whether smaller studies, drawn from this one's seeds, would have come to its verdicts."""

import pandas as pd

from ict_core.evidence import FAILED
from ict_core.tables._registry import TableDeclaration
from ict_core.tables._table import Table, TableSettings, by_row, percent, wide

TABLE = TableDeclaration(
    place=19,
    title="Stability of the verdicts",
    inputs=("stability", "validity"),
    keys=("claim", "seeds"),
    made="the ledger's decision in every smaller study that is drawn from the study's own seeds",
    module="evidence/_stability.py",
    doc="docs/statistics.md#stability-of-the-verdicts",
    statistics="stability",
    runs=(),
)


def stability_table(stability: pd.DataFrame, validity: pd.DataFrame, settings: TableSettings) -> Table:
    """A row a claim, two columns a size of the smaller studies."""
    some_failed = FAILED in set(validity["outcome"])
    gated = " Claims that are not testable, as a gate failed, are left out." if some_failed else ""
    if stability.empty:
        caption = "The study has too few seeds for smaller ones to be drawn from it: at least twice as many are needed."
        return Table(stability, stability, caption, keys=0)
    rows = stability.assign(
        text=by_row(stability, ["same", "opposite"], lambda *shares: " / ".join(map(percent, shares)))
    )
    rows["seeds"] = rows["seeds"].map("{} seeds".format)
    readable = wide(rows, ["claim", "verdict"], "seeds", rows["seeds"].unique())
    number, sizes = stability["all_seeds"].iloc[0], ", ".join(map(str, stability["seeds"].unique()))
    caption = (
        f"Of studies with {sizes} of the {number} seeds, drawn without replacement (at most "
        f"{stability['draws'].max()} of each size) and decided as the ledger decides, how many percent reach the "
        f"verdict of all {number} seeds, and how many the opposite one (`same / opposite`); the rest has another "
        "verdict, mostly `not resolved`. Drawn studies share seeds: other seeds would differ a little more."
        f"{gated}"
    )
    return Table(stability, readable, caption, keys=0)
