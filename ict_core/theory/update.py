"""The effect of an optimiser step on the entropies of the sampled states, beside the theory's prediction.

The paper's statement: an update raises the logit of a sampled token with an advantage A > 0 and lowers it for A < 0. So
H2 falls where A and p - beta have the same sign, and rises where their signs differ. The prediction is the change of
both entropies if only this token's logit had changed, by as much as its log-odds did (`single_logit.py`).
"""

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from ict_core.statistics.schemas import CELL
from ict_core.theory import single_logit as logit

SAME_SIGN = {  # measure: share of the tokens for which these two columns of `updates` have the same sign
    "statement": ("h2_moved", "stated"),
    "follows_advantage": ("log_odds", "advantage"),
    "together": ("h1_moved", "h2_moved"),
    "h2_sign": ("h2_moved", "h2_exact"),
    "h2_sign_first": ("h2_moved", "h2_first"),
    "h1_sign": ("h1_moved", "h1_exact"),
    "h1_sign_first": ("h1_moved", "h1_first"),
}
LESS_CHANCE = "_less_chance"  # suffix of the name of such a measure minus its share by chance


def updates(tokens: pd.DataFrame) -> pd.DataFrame:
    """The tokens of `records.STUDY_TOKENS` with their measured and their predicted changes, nats.

    There is one row per token of the steps at which the rule selects and whose update was measured. The columns are
    model, variant, seed, kept, logprob, h2; h1_change, h2_change: as measured; h1_moved, h2_moved: the same, NaN below
    `RESOLUTION`; log_odds: the change of the token's log-odds, NaN where H2 has not moved; advantage: NaN where it is
    0; stated: has the sign that the paper states for the change of H2; h1_exact, h1_first, h2_exact, h2_first: the
    predictions, exact and to first order. They and log_odds are NaN where the log-odds change by 0 or infinity.
    """
    rows = tokens[tokens["selecting"] & tokens["logprob_after"].notna()]
    logprob, h1, h2 = (rows[name].to_numpy(np.float64) for name in ("logprob", "h1", "h2"))
    h1_measured, h2_measured = rows["h1_after"].to_numpy() - h1, rows["h2_after"].to_numpy() - h2
    h1_moved, h2_moved = (np.where(np.abs(x) >= logit.RESOLUTION, x, np.nan) for x in (h1_measured, h2_measured))
    shift = logit.shift_between(logprob, rows["logprob_after"].to_numpy())
    shift[~np.isfinite(shift) | (shift == 0)] = np.nan
    advantage = rows["advantage"].replace(0.0, np.nan)
    return rows[[*CELL, "kept", "logprob", "h2"]].assign(
        h1_change=h1_measured,
        h2_change=h2_measured,
        h1_moved=h1_moved,
        h2_moved=h2_moved,
        log_odds=np.where(np.isnan(h2_moved), np.nan, shift),
        advantage=advantage,
        stated=advantage * (-h2 - logprob),  # beta and p in logarithms, which order alike
        h1_exact=logit.h1_change(logprob, h1, shift),
        h1_first=logit.first_order_h1_change(logprob, h1, shift),
        h2_exact=logit.h2_change(logprob, h2, shift),
        h2_first=logit.first_order_h2_change(logprob, h2, shift),
    )


def same_sign(ours: logit.Array, theirs: logit.Array) -> tuple[float, float]:
    """Share of the pairs with the same sign, and what it would be by chance; NaN below `single_logit.LEAST` pairs.

    A pair with a 0 is none, as 0 has no sign. By chance means: with signs as frequent as they are on either side, but
    independent of each other.
    """
    valid = ~np.isnan(ours) & ~np.isnan(theirs) & (ours != 0) & (theirs != 0)
    if valid.sum() < logit.LEAST:
        return np.nan, np.nan
    up, other = ours[valid] > 0, theirs[valid] > 0
    a, b = float(up.mean()), float(other.mean())
    return float((up == other).mean()), a * b + (1 - a) * (1 - b)


def _fit(measured: logit.Array, predicted: logit.Array) -> tuple[float, float]:
    """Spearman's correlation, and the slope through the origin; NaN with few pairs, or where all are equal."""
    valid = ~np.isnan(measured) & ~np.isnan(predicted)
    y, x = measured[valid], predicted[valid]
    if len(x) < logit.LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan, np.nan
    ranks = rankdata([x, y], axis=1)
    return float(np.corrcoef(ranks)[0, 1]), float(x @ y / (x @ x))


def _measures(columns: dict[str, logit.Array]) -> dict[str, float]:
    """The measures of :func:`agreement` for some tokens, from the columns of :func:`updates`."""
    tokens = len(columns["h2_change"])
    means = {name: columns[name] for name in ("h1_change", "h2_change")} | {"moved": ~np.isnan(columns["h2_moved"])}
    measures = {"tokens": float(tokens)}
    measures |= {name: float(values.mean()) if tokens >= logit.LEAST else np.nan for name, values in means.items()}
    for name, (first, second) in SAME_SIGN.items():
        share, chance = same_sign(columns[first], columns[second])
        measures |= {name: share, f"{name}_chance": chance, f"{name}{LESS_CHANCE}": share - chance}
    for name in ("h2_exact", "h2_first", "h1_exact", "h1_first"):
        measures[f"{name}_rank"], measures[f"{name}_slope"] = _fit(columns[f"{name[:2]}_moved"], columns[name])
    return measures


def agreement(tokens: pd.DataFrame) -> pd.DataFrame:
    """The effect of each run's updates and its agreement with the theory, for kept and dropped tokens and by regime.

    Reads `records.STUDY_TOKENS`. There is one row, `value`, per (model, variant, seed, set, regime, measure); it is NaN
    from fewer than `single_logit.LEAST` tokens. The set is kept or dropped; without tokens it has no rows. The measures
    are tokens; h1_change and h2_change, means in nats; moved, the share whose H2 changed by `RESOLUTION` or more; those
    of :data:`SAME_SIGN`, each also by chance and minus chance; rank (Spearman's) and slope for each prediction.
    """
    values = []
    for key, rows in updates(tokens).groupby([*CELL, "kept"], sort=False):
        run, name = key[:-1], "kept" if key[-1] else "dropped"
        columns = {column: rows[column].to_numpy() for column in rows.columns.drop([*CELL, "kept"])}
        for regime, chosen in logit.regimes(rows).items():
            measures = _measures({column: array[chosen] for column, array in columns.items()})
            values += [(*run, name, regime, measure, value) for measure, value in measures.items()]
    return pd.DataFrame(values, columns=[*CELL, "set", "regime", "measure", "value"])
