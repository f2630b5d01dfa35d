"""What every rule keeps of the same rollouts, and how many known forks: means over the runs."""

import math
from collections.abc import Callable, Iterator

import pandas as pd

from ict_core.evidence._measures import fork_precision, fork_recall
from ict_core.statistics import over_seeds

RULE_QUANTITIES = {
    "kept_share": "kept",
    "gradient_share": "gradient",
    "surprise_share": "1 − p",
    "positive_share": "A > 0",
    "negative_share": "A < 0",
    "high_h1_share": "high H1",
    "high_h2_share": "high H2",
    "position": "position",
    "probability": "p",
    "purity": "beta",
    "distance": "|p − beta|",
}
"""Columns of `records.SHADOW` and what they are called."""

OWN = "own"
CHANCE = {"recall": "kept", "precision": "forks"}
"""What a draw of as many tokens at random has for its recall and its precision: shares of all tokens."""

WHEN = ("first", "last", "all")
_FORK_KEY = ["model", "rollouts", "rule", "when", "measure"]


def rule_means(shadow: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Each quantity of each rule on the baseline's rollouts, averaged over the sampled steps, then over the runs.

    Args:
        shadow: a frame of `records.STUDY_SHADOW`.

    Returns:
        A frame of `schemas.RULE_MEANS`: shares, with a t interval over the seeds.
    """
    rows = shadow[shadow["variant"] == baseline]
    runs = rows.groupby(["model", "rule", "seed"], sort=False, as_index=False)[list(RULE_QUANTITIES)].mean()
    values = runs.melt(["model", "rule", "seed"], var_name="quantity").assign(rollouts=baseline)
    return over_seeds(values, ["model", "rollouts", "rule", "quantity"])


def pooled(rows: pd.DataFrame) -> dict[str, float]:
    """Recall and precision over the tokens of several steps together, and what chance gives.

    Args:
        rows: of `records.SHADOW`, one rule of one run; forks are known.
    """
    tokens, forks = rows["tokens"].sum(), rows["forks"].sum()
    kept = (rows["kept_share"] * rows["tokens"]).sum()
    hits = (rows["fork_recall"] * rows["forks"]).sum()  # a step without forks has NaN
    return {
        "recall": hits / forks if forks else math.nan,
        "kept": kept / tokens,
        "precision": hits / kept if kept else math.nan,
        "forks": forks / tokens,
    }


def of_tokens(rows: pd.DataFrame) -> dict[str, float]:
    """The same of the tokens that a method itself kept: rows of `records.STUDY_TOKENS` of one run."""
    return {
        "recall": fork_recall(rows),
        "kept": float(rows["kept"].mean()),
        "precision": fork_precision(rows),
        "forks": float(rows["fork"].mean()),
    }


def fork_means(shadow: pd.DataFrame, tokens: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Recall and precision at the first and the last sampled step and over all of them, over the runs.

    Args:
        shadow: a frame of `records.STUDY_SHADOW`, of which the baseline's rollouts count.
        tokens: a frame of `records.STUDY_TOKENS`; the steps of the warm-up are left out.

    Returns:
        A frame of `schemas.FORK_MEANS`, shares: rollouts (the baseline, or `own`), rule (of own rollouts: the variant),
        when (one of :data:`WHEN`), measure (`recall`, `precision`, and by :data:`CHANCE` what chance has for them:
        `kept`, `forks`). Empty where no forks are known.
    """
    known = shadow[(shadow["variant"] == baseline) & shadow["forks"].notna()]
    own = tokens[tokens["selecting"] & tokens["fork"].notna()]
    rows = [*_of_runs(known, "rule", baseline, pooled), *_of_runs(own, "variant", OWN, of_tokens)]
    values = pd.DataFrame(rows, columns=[*_FORK_KEY, "value"]).astype({"value": "float64"})
    return over_seeds(values, _FORK_KEY)


def _of_runs(
    frame: pd.DataFrame, name: str, rollouts: str, measured: Callable[[pd.DataFrame], dict[str, float]]
) -> Iterator[tuple[str, str, str, str, str, float]]:
    """A value a run, a time and a measure, with its key."""
    for (model, rule, _), rows in frame.groupby(["model", name, "seed"], sort=False):
        step = rows["step"]
        for when, some in zip(WHEN, (rows[step == step.min()], rows[step == step.max()], rows), strict=True):
            for measure, value in measured(some).items():
                yield str(model), rollouts, str(rule), when, measure, value
