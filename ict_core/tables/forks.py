"""Recall and precision of the known forks: of every rule on the same rollouts, and of every method on its own."""

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from ict_core.evidence.measures import fork_precision, fork_recall
from ict_core.statistics.over_seeds import over_seeds
from ict_core.tables.frames import TableSettings, in_order
from ict_core.tables.layout import by_row, percent_interval, seed_range
from ict_core.tables.table import Table

OWN = "own"
CHANCE = {"recall": "kept", "precision": "forks"}
"""What a draw of as many tokens at random has for its recall and its precision: shares of all tokens."""
WHEN = ("first", "last", "all")
_KEY = ["model", "rollouts", "rule", "when", "measure"]


def pooled(rows: pd.DataFrame) -> dict[str, float]:
    """Recall and precision over the tokens of several steps together, and what chance gives.

    Args:
        rows: of `records.SHADOW`, one rule of one run; forks are known.
    """
    kept, hits = rows["kept_share"] * rows["tokens"], rows["fork_recall"] * rows["forks"]  # NaN where it has no forks
    tokens, forks, keeps = rows["tokens"].sum(), rows["forks"].sum(), kept.sum()
    nan = float("nan")
    return {
        "recall": hits.sum() / forks if forks else nan,
        "kept": keeps / tokens,
        "precision": hits.sum() / keeps if keeps else nan,
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


def fork_numbers(shadow: pd.DataFrame, tokens: pd.DataFrame, variants: Sequence[str], baseline: str) -> pd.DataFrame:
    """Recall and precision at the first and the last sampled step and over all of them, over the runs.

    Args:
        shadow: a frame of `records.STUDY_SHADOW`.
        tokens: a frame of `records.STUDY_TOKENS`; the steps of the warm-up are left out.
        variants: in their order.
        baseline: the variant on whose rollouts all rules are shown.

    Returns:
        Columns model, rollouts (the baseline, or `own`), rule (of own rollouts: the variant), when (`first`, `last`,
        `all`), measure (`recall`, `precision`, and by :data:`CHANCE` what chance has for them: `kept`, `forks`), mean,
        low, high (t over seeds), seeds; shares. Empty where no forks are known.
    """
    known = shadow[(shadow["variant"] == baseline) & shadow["forks"].notna()]
    own = tokens[tokens["selecting"] & tokens["fork"].notna()]
    found = [*_of_runs(known, "rule", baseline, pooled), *_of_runs(own, "variant", OWN, of_tokens)]
    values = pd.DataFrame(found, columns=[*_KEY, "value"]).astype({"value": "float64"})
    rules = [*known["rule"].unique(), *variants]
    return in_order(over_seeds(values, _KEY), model=shadow["model"], rollouts=[baseline, OWN], rule=rules)


def _of_runs(
    frame: pd.DataFrame, name: str, rollouts: str, measured: Callable[[pd.DataFrame], dict[str, float]]
) -> Iterator[tuple[str, str, str, str, str, float]]:
    """A value a run, a time and a measure, with its key."""
    for (model, rule, _), rows in frame.groupby(["model", name, "seed"], sort=False):
        step = rows["step"]
        for when, some in zip(WHEN, (rows[step == step.min()], rows[step == step.max()], rows), strict=True):
            for measure, value in measured(some).items():
                yield str(model), rollouts, str(rule), when, measure, value


def fork_table(shadow: pd.DataFrame, tokens: pd.DataFrame, settings: TableSettings) -> Table:
    """The readable recall and precision."""
    baseline = settings.baselines[0]
    numbers = fork_numbers(shadow, tokens, settings.variants, baseline)
    columns: dict[tuple[str, str], str] = {}
    for measure, chance in CHANCE.items():
        columns[chance, "all"] = f"{chance} %"
        columns |= {(measure, when): f"{measure} {when}" for when in WHEN}
    key = ["model", "rollouts", "rule"]
    texts = numbers.assign(text=by_row(numbers, ["mean", "low", "high"], percent_interval))
    wide = texts.pivot(index=key, columns=["measure", "when"], values="text")
    shown = wide.reindex(index=pd.MultiIndex.from_frame(numbers[key].drop_duplicates()), columns=list(columns))
    shown.columns = pd.Index(columns.values())
    if numbers.empty:
        caption = "No decision points are known in these problems, so no rule's recall or precision of them is."
    else:
        caption = (
            "The known forks are the tokens at which a response of the mini world chooses between a direct and a "
            "worked step. Recall: the share of them that is kept; precision: the share of the kept tokens that they "
            f"are; in percent, means over {seed_range(numbers['seeds'])} ± half the 95 % t-interval over the seeds, at "
            "the first and the last sampled step and over the tokens of all of them. Above, every rule of the study on "
            f"the same rollouts, those sampled while `{baseline}` trained; then (rollouts: {OWN}) the tokens that each "
            "method kept of its own, at steps at which it selects. As many tokens drawn at random have a recall of "
            "`kept %` and a precision of `forks %`."
        )
    return Table("forks", numbers, shown.reset_index(), caption, keys=2)
