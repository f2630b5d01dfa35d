"""The table of the readings of the paper: those that give all three figures it prints for the kept tokens."""

import pandas as pd

from ict_core.tables.table import Table, by_row, means, percent
from ict_core.theory.bound import least_probability

_FIGURES = {"probability": "“probability”", "high_share": "above the cut", "elbow": "elbow"}


def readings_table(readings: pd.DataFrame) -> Table:
    """One row per reading in `records.STUDY_READINGS` whose figures are all in range on the first set of prompts."""
    keys = ["model", "variant", "reference", "scope", "quantity", "cut", "temperature"]
    first, second = (readings[readings["set"] == name].set_index(keys) for name in ("first", "second"))
    matches = first[first["meets"]].join(second.add_suffix("_again")).reset_index()
    readable = matches[keys].assign(temperature=matches["temperature"].map("{:g}".format))
    for figure, title in _FIGURES.items():
        readable[title] = means(matches, [figure, f"{figure}_low", f"{figure}_high"])
    second_columns = [f"{figure}_again" for figure in _FIGURES]
    readable["second set"] = by_row(matches, second_columns, lambda *values: " / ".join(map(percent, values)))
    readable["confirmed"] = matches["meets_again"].map({True: "yes", False: "no"})
    return Table(readings, readable, _caption(first, second), keys=2, name="readings", title="Readings of ICT")


def _caption(first: pd.DataFrame, second: pd.DataFrame) -> str:
    lines = []
    for (model, variant), cells in first.groupby(["model", "variant"], sort=False):
        confirmed = second.loc[cells.index[cells["meets"]], "meets"]
        fits = ", ".join(f"{cells[f'{figure}_fits'].sum()} {title}" for figure, title in _FIGURES.items())
        median = cells["median_h1"].xs(cells.index.get_level_values("temperature").max(), level="temperature").iloc[0]
        lines.append(
            f"{model} `{variant}` ({cells['tokens'].max():,} tokens of {cells['prompts'].max()} prompts): of "
            f"{len(cells)} readings {fits}; all three {cells['meets'].sum()}, confirmed {confirmed.sum()}. With "
            f"half of the kept tokens below the median H1 p(a) is {least_probability(0.5, median):.2f} or more."
        )
    return (
        "Readings of the paper under which the kept tenth of the tokens has all three figures that it prints: "
        "“probability” 0.18 ± 0.09, about 1 : 1 above and below the cut of H1, elbow of the sorted scores near 10 %. "
        "In percent, means over the first set of prompts ± half the 95 % t-interval; then the same of the second set, "
        "which confirms a reading if all three lie in their ranges again. All readings were looked at, so some are met "
        "by chance, and the cut at the median of the kept tokens splits them 1 : 1 by construction. In range on the "
        f"first set: {' '.join(lines)}"
    )
