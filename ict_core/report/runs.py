"""The trainings whose logs show that they went wrong, in words."""

import pandas as pd

from ict_core.evidence.run_faults import run_faults
from ict_core.markdown import markdown_table


def run_notes(log: pd.DataFrame, padded: bool = False) -> str:
    """A table of :func:`run_faults`, those of a variant's runs in one row; empty where there are none."""
    rows = [
        (
            f"{model}/{variant}",
            ", ".join(str(seed) for seed in sorted(runs["seed"])),
            fault,
            " to ".join(dict.fromkeys(f"{value:.3g}" for value in (runs["value"].min(), runs["value"].max()))),
            runs["step"].min(),
        )
        for (model, variant, fault), runs in run_faults(log).groupby(["model", "variant", "fault"], sort=False)
    ]
    heads = ("trained", "seeds", "at the end", "value", "from step")
    return markdown_table(heads, rows, "lllrr", padded=padded) if rows else ""
