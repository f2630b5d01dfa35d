"""Quantities of one training run, from its log and its token sample: what the claims about tokens are tested on."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ict_core.statistics import CELL, CURVES, POINTS, elbow, mean_sorted_curve
from ict_core.theory import regimes, same_sign, updates

PART = 5  # the start and the end of a training are its first and last fifth


class Quantity(NamedTuple):
    """A number that a run has."""

    of_run: Callable[[pd.DataFrame], float]
    frame: str  # that it is computed from: log or tokens
    unit: str


def _change(column: str) -> Callable[[pd.DataFrame], float]:
    """The relative change of a column of the log from the first to the last fifth of the steps."""

    def of_run(log: pd.DataFrame) -> float:
        ordered = log.sort_values("step")[column].to_numpy()
        part = max(1, len(ordered) // PART)
        return float(ordered[-part:].mean() / ordered[:part].mean() - 1)

    return of_run


def mean_probability_kept(tokens: pd.DataFrame) -> float:
    """Mean probability pi of the kept tokens, as the policy that drew them gave it."""
    return float(np.exp(tokens.loc[tokens["kept"], "logprob"]).mean())


def high_entropy_share(tokens: pd.DataFrame) -> float:
    """Share of the kept tokens whose H1 lies above the median of all response tokens of their step; a tie is half."""
    kept = tokens[tokens["kept"]]
    median = tokens.groupby("step")["h1"].median().reindex(kept["step"]).to_numpy()
    above, tied = (kept["h1"].to_numpy() > median).mean(), (kept["h1"].to_numpy() == median).mean()
    return float(above + tied / 2)


def distance_from_beta(tokens: pd.DataFrame) -> float:
    """Mean of |pi - beta| over the kept tokens less that over the dropped ones, beta = exp(-H2)."""
    distance = (np.exp(tokens["logprob"]) - np.exp(-tokens["h2"])).abs()
    return float(distance[tokens["kept"]].mean() - distance[~tokens["kept"]].mean())


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


def elbow_of_run(tokens: pd.DataFrame) -> float:
    """The share of a sequence's tokens at the elbow of the run's mean curve of sorted scores u."""
    return elbow(sorted_curve(tokens))


def sign_statement(tokens: pd.DataFrame) -> float:
    """Share of the kept tokens whose H2 an update changed as the paper states, less what chance gives.

    Chance is not one half, as the signs of advantages and of changes are unequally frequent (`theory.update`).
    """
    rows = updates(tokens)
    kept = rows[rows["kept"]]
    share, chance = same_sign(kept["h2_moved"].to_numpy(), kept["stated"].to_numpy())
    return share - chance


def together_above(tokens: pd.DataFrame) -> float:
    """Share of the tokens whose H1 and H2 an update changed in the same direction: where p > 1/e less where p < 1/e."""
    rows = updates(tokens)
    h1, h2, chosen = rows["h1_moved"].to_numpy(), rows["h2_moved"].to_numpy(), regimes(rows)
    above, below = (same_sign(h1[chosen[name]], h2[chosen[name]])[0] for name in ("p > 1/e", "p < 1/e"))
    return above - below


QUANTITIES = {
    "probability_of_kept": Quantity(mean_probability_kept, "tokens", "probability"),
    "high_entropy_share_of_kept": Quantity(high_entropy_share, "tokens", "share of the kept tokens"),
    "distance_from_beta": Quantity(distance_from_beta, "tokens", "probability, kept less dropped"),
    "fork_recall": Quantity(fork_recall, "tokens", "share of the known forks"),
    "fork_precision": Quantity(fork_precision, "tokens", "share of the kept tokens"),
    "elbow": Quantity(elbow_of_run, "tokens", "share of the tokens"),
    "sign_statement": Quantity(sign_statement, "tokens", "share of the kept tokens, less chance"),
    "h1_moves_with_h2": Quantity(together_above, "tokens", "share of the tokens, p > 1/e less p < 1/e"),
    "h1_change": Quantity(_change("h1"), "log", "relative change"),
    "h2_change": Quantity(_change("h2"), "log", "relative change"),
}


def run_quantities(
    quantities: Sequence[str], variants: Sequence[str], log: pd.DataFrame, tokens: pd.DataFrame
) -> pd.DataFrame:
    """Quantities of every run of some variants.

    Quantities of tokens are measured where the rule selects: not in its warm-up. A run without such a step in its
    token sample has NaN.

    Args:
        quantities: names in :data:`QUANTITIES`.
        variants: those that the study did not run have no rows.
        log, tokens: frames of `records.STUDY_LOG` and `records.STUDY_TOKENS`.

    Returns:
        Columns model, variant, seed, quantity, `value`; a row a run and quantity.
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
    """One quantity of one variant's runs in a frame of `schemas.QUANTITIES`, indexed by (model, seed)."""
    rows = quantities[(quantities["quantity"] == quantity) & (quantities["variant"] == variant)]
    return rows.set_index(["model", "seed"])["value"]


def sorted_curves(tokens: pd.DataFrame) -> pd.DataFrame:
    """:func:`sorted_curve` of every run in a frame of `records.STUDY_TOKENS`, where the rule selects.

    Returns:
        A frame of `schemas.CURVES`, runs as they first come, shares rising.
    """
    share = np.arange(1, POINTS + 1) / POINTS
    curves = [
        pd.DataFrame({**dict(zip(CELL, run, strict=True)), "share": share, "score": sorted_curve(rows)})
        for run, rows in tokens[tokens["selecting"]].groupby(CELL, sort=False)
    ]
    return pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=list(CURVES))
