"""Measures from training logs, token samples and shadow scoring: quantities of each run, and what each rule keeps.

Claims about tokens are tested on the quantities. :func:`token_frames` makes all frames that need no scores.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ict_core.statistics.elbow import POINTS, elbow, mean_sorted_curve
from ict_core.statistics.intervals import over_seeds
from ict_core.statistics.matching import matched_difference
from ict_core.statistics.schemas import ALL, CELL, CURVES, SINGLE_LOGIT, SINGLE_LOGIT_BINS
from ict_core.theory.single_logit import breaking_shift, by_regime, over_sources, regimes, sources
from ict_core.theory.update import agreement, same_sign, updates

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
"""Columns of `records.SHADOW` and their display names."""

OWN = "own"
CHANCE = {"recall": "kept", "precision": "forks"}
"""The measures that recall and precision equal for as many tokens drawn at random: shares of all tokens."""

WHEN = ("first", "last", "all")


class Quantity(NamedTuple):
    """A number measured for each run."""

    of_run: Callable[[pd.DataFrame], float]
    frame: str  # the frame it is computed from: log or tokens
    unit: str


def _change(column: str) -> Callable[[pd.DataFrame], float]:
    """The relative change of a column of the log from the first to the last fifth of the steps."""

    def of_run(log: pd.DataFrame) -> float:
        ordered = log.sort_values("step")[column].to_numpy()
        part = max(1, len(ordered) // 5)
        return float(ordered[-part:].mean() / ordered[:part].mean() - 1)

    return of_run


def mean_probability_kept(tokens: pd.DataFrame) -> float:
    """Mean probability pi of the kept tokens, under the policy that sampled them."""
    return float(np.exp(tokens.loc[tokens["kept"], "logprob"]).mean())


def high_entropy_share(tokens: pd.DataFrame) -> float:
    """Share of the kept tokens whose H1 is above the median of all response tokens of their step; a tie counts half."""
    kept = tokens[tokens["kept"]]
    median = tokens.groupby("step")["h1"].median().reindex(kept["step"]).to_numpy()
    above, tied = (kept["h1"].to_numpy() > median).mean(), (kept["h1"].to_numpy() == median).mean()
    return float(above + tied / 2)


def _distance(tokens: pd.DataFrame) -> pd.Series:
    """|pi - beta| of each token, where beta = exp(-H2)."""
    return (np.exp(tokens["logprob"]) - np.exp(-tokens["h2"])).abs()


def distance_from_beta(tokens: pd.DataFrame) -> float:
    """Mean of |pi - beta| over the kept tokens less the mean over the dropped ones, where beta = exp(-H2)."""
    distance = _distance(tokens)
    return float(distance[tokens["kept"]].mean() - distance[~tokens["kept"]].mean())


def distance_from_beta_matched(tokens: pd.DataFrame) -> float:
    """The same for kept and dropped tokens of similar H1: within deciles of H1 in each response group of a step.

    Where H1 is low pi is near beta, whichever tokens are kept. :func:`matched_difference` says how tokens are matched.
    """
    groups = tokens.groupby(["step", "group"]).ngroup()
    return matched_difference(_distance(tokens), tokens["kept"], tokens["h1"], groups)


def fork_recall(tokens: pd.DataFrame) -> float:
    """Share of the known forks that are kept; NaN where none is known."""
    return float(tokens.loc[tokens["fork"] == 1, "kept"].mean())


def fork_precision(tokens: pd.DataFrame) -> float:
    """Share of the kept tokens that are known forks; NaN where none is known."""
    return float(tokens.loc[tokens["kept"], "fork"].mean())


def sorted_curve(tokens: pd.DataFrame) -> NDArray[np.float64]:
    """The mean over a run's sequences of their scores u sorted from high to low (`statistics.elbow`)."""
    sequence = tokens.groupby(["step", "group", "rollout"]).ngroup()
    return mean_sorted_curve(tokens["js"], sequence)


def sign_statement(tokens: pd.DataFrame) -> float:
    """Share of the kept tokens whose H2 an update changed as the paper states, less the share by chance.

    Chance is not one half, as the signs of advantages and of changes are unequally frequent (:func:`same_sign`).
    """
    rows = updates(tokens)
    kept = rows[rows["kept"]]
    share, chance = same_sign(kept["h2_moved"].to_numpy(), kept["stated"].to_numpy())
    return share - chance


def together_above(tokens: pd.DataFrame) -> float:
    """Share of the tokens whose H1 and H2 an update changed in the same direction: for p > 1/e less for p < 1/e."""
    rows = updates(tokens)
    h1, h2, chosen = rows["h1_moved"].to_numpy(), rows["h2_moved"].to_numpy(), regimes(rows)
    above, below = (same_sign(h1[chosen[name]], h2[chosen[name]])[0] for name in ("p > 1/e", "p < 1/e"))
    return above - below


QUANTITIES = {
    "probability_of_kept": Quantity(mean_probability_kept, "tokens", "probability"),
    "high_entropy_share_of_kept": Quantity(high_entropy_share, "tokens", "share of the kept tokens"),
    "distance_from_beta": Quantity(distance_from_beta, "tokens", "probability, kept less dropped"),
    "distance_from_beta_matched": Quantity(distance_from_beta_matched, "tokens", "probability, kept less dropped"),
    "fork_recall": Quantity(fork_recall, "tokens", "share of the known forks"),
    "fork_precision": Quantity(fork_precision, "tokens", "share of the kept tokens"),
    "elbow": Quantity(lambda tokens: elbow(sorted_curve(tokens)), "tokens", "share of the tokens"),
    "sign_statement": Quantity(sign_statement, "tokens", "share of the kept tokens, less chance"),
    "h1_moves_with_h2": Quantity(together_above, "tokens", "share of the tokens, p > 1/e less p < 1/e"),
    "h1_change": Quantity(_change("h1"), "log", "relative change"),
    "h2_change": Quantity(_change("h2"), "log", "relative change"),
}


def run_quantities(
    quantities: Sequence[str], variants: Sequence[str], log: pd.DataFrame, tokens: pd.DataFrame
) -> pd.DataFrame:
    """Quantities of every run of some variants.

    Quantities of tokens are measured at steps where the rule selects, not in its warm-up. A run without such a step in
    its token sample has NaN; a variant that the study did not run has no rows. The frames are `records.STUDY_LOG` and
    `records.STUDY_TOKENS`; the result has columns model, variant, seed, quantity, `value`.
    """
    log, tokens = (frame[frame["variant"].isin(list(variants))] for frame in (log, tokens))
    values = {
        (run, quantity): QUANTITIES[quantity].of_run(rows)
        for name, frame in (("log", log), ("tokens", tokens[tokens["selecting"]]))
        for run, rows in frame.groupby(CELL, sort=False)
        for quantity in quantities
        if QUANTITIES[quantity].frame == name
    }
    runs = log[CELL].drop_duplicates().itertuples(index=False, name=None)
    rows = [(*run, quantity, values.get((run, quantity), float("nan"))) for run in runs for quantity in quantities]
    return pd.DataFrame(rows, columns=[*CELL, "quantity", "value"]).astype({"value": "float64"})


def runs_of(quantities: pd.DataFrame, quantity: str, variant: str) -> pd.Series:
    """One quantity of one variant's runs in a frame of `statistics.schemas.QUANTITIES`, indexed by (model, seed)."""
    rows = quantities[(quantities["quantity"] == quantity) & (quantities["variant"] == variant)]
    return rows.set_index(["model", "seed"])["value"]


def sorted_curves(tokens: pd.DataFrame) -> pd.DataFrame:
    """A frame of `CURVES`: :func:`sorted_curve` of every run of `records.STUDY_TOKENS`, where the rule selects."""
    share = np.arange(1, POINTS + 1) / POINTS
    curves = [
        pd.DataFrame({**dict(zip(CELL, run, strict=True)), "share": share, "score": sorted_curve(rows)})
        for run, rows in tokens[tokens["selecting"]].groupby(CELL, sort=False)
    ]
    return pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=list(CURVES))


def rule_means(shadow: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """`statistics.schemas.RULE_MEANS`: each quantity of each rule on the baseline's rollouts (`records.STUDY_SHADOW`).

    Values are averaged over the sampled steps, then over the runs, with a t interval over the seeds.
    """
    rows = shadow[shadow["variant"] == baseline]
    runs = rows.groupby(["model", "rule", "seed"], sort=False, as_index=False)[list(RULE_QUANTITIES)].mean()
    values = runs.melt(["model", "rule", "seed"], var_name="quantity").assign(rollouts=baseline)
    return over_seeds(values, ["model", "rollouts", "rule", "quantity"])


def kept_weight(rows: pd.DataFrame) -> pd.Series:
    """The sum of a rule's weights in each row of `records.SHADOW`; of a mask it is the number of kept tokens.

    `kept_share` is the effective share, which differs for a rule that weighs tokens. There the known forks give the
    sum, as recall and precision have it for their divisors; where none is kept it stays the effective number.
    """
    effective, of_forks = rows["kept_share"] * rows["tokens"], rows["fork_recall"] * rows["forks"]
    by_forks = (of_forks / rows["fork_precision"]).fillna(effective)
    return effective.where(np.isclose(by_forks, effective, rtol=1e-4), by_forks)  # the frame has float32's digits


def pooled(rows: pd.DataFrame) -> dict[str, float]:
    """Recall and precision over the tokens of several steps together, and their values by chance.

    `rows`, of `records.SHADOW`, are those of one rule in one run whose forks are known.
    """
    tokens, forks = rows["tokens"].sum(), rows["forks"].sum()
    hits = (rows["fork_recall"] * rows["forks"]).sum()  # a step without forks has NaN
    kept = kept_weight(rows).sum()
    return {
        "recall": hits / forks if forks else math.nan,
        "kept": kept / tokens,
        "precision": hits / kept if kept else math.nan,
        "forks": forks / tokens,
    }


def of_tokens(rows: pd.DataFrame) -> dict[str, float]:
    """The same for the tokens that a method itself kept: rows of `records.STUDY_TOKENS` of one run."""
    return {
        "recall": fork_recall(rows),
        "kept": float(rows["kept"].mean()),
        "precision": fork_precision(rows),
        "forks": float(rows["fork"].mean()),
    }


def fork_means(shadow: pd.DataFrame, tokens: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """`statistics.schemas.FORK_MEANS`: recall and precision at the first and last sampled step and over all.

    In `records.STUDY_SHADOW` the baseline's rollouts count, in `records.STUDY_TOKENS` the steps after the warm-up. The
    shares are means over the runs, by rollouts (the baseline, or `own`), rule (the variant, if rollouts are its own),
    when (one of :data:`WHEN`) and measure (`recall`, `precision`, and those that :data:`CHANCE` gives for them by
    chance). Empty without known forks.
    """
    forks_known = shadow[(shadow["variant"] == baseline) & shadow["forks"].notna()]
    selected = tokens[tokens["selecting"] & tokens["fork"].notna()]
    rows = [*_of_runs(forks_known, "rule", baseline, pooled), *_of_runs(selected, "variant", OWN, of_tokens)]
    key = ["model", "rollouts", "rule", "when", "measure"]
    return over_seeds(pd.DataFrame(rows, columns=[*key, "value"]).astype({"value": "float64"}), key)


def _of_runs(
    frame: pd.DataFrame, name: str, rollouts: str, measured: Callable[[pd.DataFrame], dict[str, float]]
) -> Iterator[tuple[str, str, str, str, str, float]]:
    """One value per run, time and measure, with its key."""
    for (model, rule, _), rows in frame.groupby(["model", name, "seed"], sort=False):
        step = rows["step"]
        for when, part in zip(WHEN, (rows[step == step.min()], rows[step == step.max()], rows), strict=True):
            for measure, value in measured(part).items():
                yield str(model), rollouts, str(rule), when, measure, value


def single_logit_frames(tokens: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Frames of `SINGLE_LOGIT` and `SINGLE_LOGIT_BINS`: the first-order statement against the exact change."""
    states = sources(tokens)
    by_shift = over_sources(by_regime, states).assign(variants=ALL)
    by_bin = over_sources(breaking_shift, states).assign(variants=ALL, measure="breaking")
    return by_shift[list(SINGLE_LOGIT)], by_bin[list(SINGLE_LOGIT_BINS)]


def token_frames(
    log: pd.DataFrame, tokens: pd.DataFrame, shadow: pd.DataFrame, variants: Sequence[str], baseline: str
) -> dict[str, pd.DataFrame]:
    """Every frame of `schemas.STATISTICS` that is made without scores, by its name, for the trained variants.

    The inputs are `records.STUDY_LOG`, `STUDY_TOKENS` and `STUDY_SHADOW`. All rules use the baseline's rollouts.
    """
    tokens = tokens[tokens["variant"].isin(list(variants))]
    quantities, agreements = run_quantities(list(QUANTITIES), variants, log, tokens), agreement(tokens)
    single_logit, bins = single_logit_frames(tokens)
    return {
        "quantities": quantities,
        "quantity_means": over_seeds(quantities, ["model", "variant", "quantity"]),
        "curves": sorted_curves(tokens),
        "agreement": agreements,
        "agreement_means": over_seeds(agreements, ["model", "variant", "set", "regime", "measure"]),
        "single_logit": single_logit,
        "single_logit_bins": bins,
        "rule_means": rule_means(shadow, baseline),
        "fork_means": fork_means(shadow, tokens, baseline),
    }
