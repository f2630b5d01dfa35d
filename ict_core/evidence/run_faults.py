"""How a training went wrong, from its log: each fault in words, with a number and the step from which it shows."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from ict_core.markdown import markdown_table
from ict_core.statistics.schemas import CELL

SOLVED = 0.9  # a mean reward from which it is normal that few groups have an advantage
MOSTLY_WRONG = 0.5  # a mean reward below which a policy without entropy has stopped too early
RUN_FAULTS = ("model", "variant", "seed", "fault", "value", "step")
"""Columns of :func:`run_faults`: `value` is the number that `fault` describes; from `step` on it lasts to the end."""


def run_faults(log: pd.DataFrame) -> pd.DataFrame:
    """Every fault of every run in a frame of `records.STUDY_LOG`, with the columns :data:`RUN_FAULTS`.

    Only what is wrong at the end of the run counts. The bounds are rules of thumb, not tests:

    * the reward fell by more than 0.05, or 80 % or more of the groups of the last eighth have no advantage while the
      reward is below :data:`SOLVED` (dead groups);
    * entropy H1 is below a tenth of its start while the reward is below :data:`MOSTLY_WRONG` (collapse), or above 1.25
      times its start (explosion; learning lowers it);
    * responses are longer than 1.5 times their start while the reward is less than 0.02 above its start (length
      hacking), or more than 10 % are cut at the longest length allowed (truncation);
    * the divergence from the model that sampled the first batch is above 0.5 nats per token and ten times its median.
    """
    rows = [
        (*cell, *fault) for cell, run in log.groupby(CELL, sort=False) for fault in _of_run(run.sort_values("step"))
    ]
    return pd.DataFrame(rows, columns=list(RUN_FAULTS))


def _of_run(run: pd.DataFrame) -> Iterator[tuple[str, float, int]]:
    steps, width = run["step"].to_numpy(), max(2, len(run) // 8)
    names = ["reward", "zero_advantage_share", "h1", "length_mean", "truncated_share", "kl"]
    windows = run[names].astype(float).rolling(width, min_periods=1).mean()  # an eighth of the steps each
    start = windows.iloc[min(width, len(run)) - 1]  # the first full one
    reward, dead, entropy, length, truncated, kl = windows.to_numpy().T
    change = entropy / start["h1"]
    median = np.nanmedian(kl) if np.isfinite(kl).any() else np.nan
    for name, value, faulty in (
        ("reward lower than at the start, by", start["reward"] - reward, reward < start["reward"] - 0.05),
        ("share of groups without an advantage", dead, (reward < SOLVED) & (dead >= 0.8)),
        ("entropy, of its start", change, (reward < MOSTLY_WRONG) & (change < 0.1)),
        ("entropy, of its start", change, change > 1.25),
        (
            "length, of its start, without a higher reward",
            length / start["length_mean"],
            (length > 1.5 * start["length_mean"]) & (reward < start["reward"] + 0.02),
        ),
        ("share of responses cut", truncated, truncated > 0.1),
        ("divergence from the first policy, nats a token", kl, (kl > 0.5) & (kl > 10 * median)),
    ):
        if faulty[-1]:
            first = len(faulty) - int(np.argmin(faulty[::-1])) if not faulty.all() else 0
            yield name, float(value[-1]), int(steps[first])


def run_notes(log: pd.DataFrame, padded: bool = False) -> str:
    """A table of :func:`run_faults`: all runs of a variant that share a fault are one row; empty if there are none."""
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
