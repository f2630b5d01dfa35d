"""How a training went wrong, from its log: each fault in words, with a number and the step from which it shows."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from ict_core.markdown import markdown_table
from ict_core.statistics.intervals import Floats
from ict_core.statistics.schemas import CELL

SOLVED = 0.9  # a mean reward from which it is normal that few groups have an advantage
MOSTLY_WRONG = 0.5  # a mean reward below which a policy without entropy has stopped too early
RUN_FAULTS = ("model", "variant", "seed", "fault", "value", "step")
"""Columns of :func:`run_faults`: `value` is the number that `fault` describes; from `step` on it lasts to the end."""


class _Course(NamedTuple):
    """A quantity over the steps of a run, as means over windows of an eighth of the steps, and its start."""

    windows: Floats  # at each step, the mean of the window that ends there
    start: float  # the mean of the first full window

    @classmethod
    def of(cls, values: pd.Series) -> "_Course":
        width = max(2, len(values) // 8)
        windows = values.astype(float).rolling(width, min_periods=1).mean().to_numpy()
        return cls(windows, float(windows[min(width, len(windows)) - 1]))


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
    steps = run["step"].to_numpy()
    reward, dead = _Course.of(run["reward"]), _Course.of(run["zero_advantage_share"])
    entropy, length = _Course.of(run["h1"]), _Course.of(run["length_mean"])
    truncated, kl = _Course.of(run["truncated_share"]), _Course.of(run["kl"])
    change = entropy.windows / entropy.start
    median = np.nanmedian(kl.windows) if np.isfinite(kl.windows).any() else np.nan
    for name, value, faulty in (
        ("reward lower than at the start, by", reward.start - reward.windows, reward.windows < reward.start - 0.05),
        ("share of groups without an advantage", dead.windows, (reward.windows < SOLVED) & (dead.windows >= 0.8)),
        ("entropy, of its start", change, (reward.windows < MOSTLY_WRONG) & (change < 0.1)),
        ("entropy, of its start", change, change > 1.25),
        (
            "length, of its start, without a higher reward",
            length.windows / length.start,
            (length.windows > 1.5 * length.start) & (reward.windows < reward.start + 0.02),
        ),
        ("share of responses cut", truncated.windows, truncated.windows > 0.1),
        ("divergence from the first policy, nats a token", kl.windows, (kl.windows > 0.5) & (kl.windows > 10 * median)),
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
