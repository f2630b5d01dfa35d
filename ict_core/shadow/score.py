"""Every rule on the same rollouts: what it keeps of them, and how far any two rules agree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from ict_core.seeding import derive_seed
from ict_core.selection.base import Rule, TokenBatch
from ict_core.statistics.schemas import CELL
from ict_core.store import records
from ict_core.store.token_scores import STATISTICS, UNSAMPLED_SCORES
from ict_core.tokens.streaming import TokenStatistics

Floats = NDArray[np.float64]
ORDER = ["group", "rollout", "position"]  # of tokens


def rebuilt(rows: pd.DataFrame) -> TokenBatch:
    """The padded tensors of one sampled step, as the training's selection saw them, from rows of `records.TOKENS`.

    A further column `decides` marks the tokens that decide; columns of scores that are not sampled may be present too.
    """
    names = (*STATISTICS, *(name for name in UNSAMPLED_SCORES if name in rows))
    group, rollout, position = (torch.tensor(rows[column].to_numpy(copy=True)) for column in ORDER)
    group_size = int(rollout.max()) + 1
    row = group * group_size + rollout
    shape = ((int(group.max()) + 1) * group_size, int(position.max()) + 1)

    def padded(values: NDArray[Any]) -> Tensor:  # (..., N) -> (..., B, T)
        found = torch.tensor(values.copy())
        tensor = found.new_zeros(*found.shape[:-1], *shape)
        tensor[..., row, position] = found
        return tensor

    statistics = TokenStatistics(padded(rows[[*names]].to_numpy(np.float32).T), names, group_size)
    advantages = torch.zeros(shape[0])
    advantages[row] = torch.tensor(rows["advantage"].to_numpy(np.float32))
    mask, token_ids = padded(np.ones(len(rows), dtype=bool)), padded(rows["token"].to_numpy(np.int64))
    decisions = padded(rows["decides"].to_numpy(bool)) if "decides" in rows else None
    return TokenBatch(statistics, advantages, mask, token_ids, decisions=decisions)


def applied(rows: pd.DataFrame, rules: Sequence[Rule], seed: int) -> tuple[Floats, list[Floats | None]]:
    """The weights that R rules give a step's N tokens, (R, N), and the scores by which each ranks them, (N,), or None.

    The rows of `records.TOKENS` are sorted by group, rollout and position.
    """
    batch, step = rebuilt(rows), int(rows["step"].iloc[0])
    seeded = [(rule, rule_seed(seed, rule, step)) for rule in rules]
    weights = [rule.weights(batch, draw_seed)[batch.mask].double().numpy() for rule, draw_seed in seeded]
    scores = [rule.score(batch, draw_seed) for rule, draw_seed in seeded]
    ranked = [None if values is None else values[batch.mask].double().numpy() for values in scores]
    return np.array(weights).reshape(len(rules), len(rows)), ranked


def rule_seed(seed: int, rule: Rule, step: int) -> int:
    """The seed of a rule's random draws at one step, independent of the other rules."""
    return derive_seed(seed, "shadow", rule.name, step)


def score_step(rows: pd.DataFrame, rules: Sequence[Rule], seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All rules, in their order, on one sampled step: frames of `records.SHADOW` and of `records.OVERLAP`.

    For a rule whose scope is the batch, the sampled groups are the batch, padded to their longest response. So it keeps
    other tokens than in a training, whose batch has more groups. Rules whose scope is a sequence or a group keep
    exactly what they would keep there if they draw nothing. ``rows`` are of `records.TOKENS`, the seed is the cell's.
    """
    rows = rows.sort_values(ORDER, kind="stable")
    step, names = int(rows["step"].iloc[0]), [rule.name for rule in rules]
    weights, scores = applied(rows, rules, seed)
    shadow = composition(rows, weights).assign(step=step, rule=names, tokens=len(rows))[list(records.SHADOW)]
    pairs = overlap(weights, scores, names)
    return shadow, pairs.assign(step=step)[list(records.OVERLAP)]


def composition(rows: pd.DataFrame, weights: Floats) -> pd.DataFrame:
    """The shares and means under R rules' weights, (R, N), of one step's N rows of `records.TOKENS`: a row per rule.

    The columns are those of :func:`parts`, and `forks`, the number of known forks.
    """
    frame = composed(*parts(rows), weights).assign(forks=rows["fork"].to_numpy().sum())
    return frame.astype(np.float32).astype(np.float64)  # as exact as the statistics, and half the file


def composed(shares: pd.DataFrame, means: pd.DataFrame, weights: Floats) -> pd.DataFrame:
    """The shares and means of :func:`parts` under R rules' weights, (R, N), 0 and 1 for a mask: a row per rule.

    A share is sum w x / sum x and may be above 1; `kept_share` is the effective one, (sum w)^2 / (N sum w^2).
    """
    amounts, values, tokens = shares.to_numpy(), means.to_numpy(), weights.shape[1]
    sets = weights.astype(np.float64)
    total, squares = sets.sum(1), np.square(sets).sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0
        found = np.hstack([sets @ amounts / amounts.sum(0), sets @ values / total[:, None]])
        effective = np.where(squares > 0, total**2 / (tokens * squares), total / np.float64(tokens))
    return pd.DataFrame(found, columns=[*shares, *means]).assign(kept_share=effective)


def parts(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What each token of one step, N rows of `records.TOKENS`, contributes to shares and to means of kept tokens.

    Shares of the total of all tokens: `kept_share` (of their number), `fork_recall` (of the known forks),
    `surprise_share` (of the mass 1 - p), `gradient_share` (of the sum of |A| sqrt(1 - 2 p + beta), the norms of the
    policy gradient A (e_a - p) with respect to each token's logits). Means over the kept tokens: `fork_precision`,
    `positive_share` and `negative_share` (A > 0, A < 0), `high_h1_share` and `high_h2_share` (above the median of all
    tokens; a tie is half), `position` (0 the response's first, 1 its last token; 0 for the only token of a response),
    `probability` p, `purity` beta = exp(-H2), `distance` |p - beta|. NaN for a share of nothing or a mean over nothing,
    and for forks if none is known.
    """
    logprob, h2, advantage, fork = (rows[c].to_numpy() for c in ("logprob", "h2", "advantage", "fork"))
    p, purity, ones = np.exp(logprob), np.exp(-h2), np.ones(len(rows))
    last = rows.groupby(["group", "rollout"])["position"].transform("max").to_numpy()
    shares = {
        "kept_share": ones,
        "fork_recall": fork,
        "surprise_share": -np.expm1(logprob),
        "gradient_share": np.abs(advantage) * np.sqrt(np.clip(1 - 2 * p + purity, 0, None)),
    }
    means = {
        "fork_precision": fork,
        "positive_share": (advantage > 0) * ones,
        "negative_share": (advantage < 0) * ones,
        "high_h1_share": _above_median(rows["h1"]),
        "high_h2_share": _above_median(rows["h2"]),
        "position": rows["position"].to_numpy() / np.maximum(last, 1),
        "probability": p,
        "purity": purity,
        "distance": np.abs(p - purity),
    }
    return pd.DataFrame(shares), pd.DataFrame(means)


def _above_median(values: pd.Series) -> Floats:
    """1 above the median of the values, 0 below it, a half at it."""
    return np.heaviside(values.to_numpy() - np.median(values), 0.5)


def overlap(weights: Floats, scores: Sequence[Floats | None], names: Sequence[str]) -> pd.DataFrame:
    """How far any two of R rules agree: a row per pair, in the rules' order.

    `jaccard`: the sum of the smaller weights over the sum of the larger ones, from the rules' weights, (R, N); for
    masks, the tokens that both keep over the tokens that either keeps. `rank_correlation`: Spearman's, of the scores by
    which each rule ranks the N tokens; NaN if a rule ranks none or all its scores are equal.
    """
    ranked = pd.DataFrame({i: np.full(weights.shape[1], np.nan) if s is None else s for i, s in enumerate(scores)})
    correlation = ranked.corr(method="spearman").to_numpy()
    pairs = np.triu_indices(len(weights), 1)
    both = np.array([np.minimum(weights[i], weights[j]).sum() for i, j in zip(*pairs, strict=True)])
    size = weights.sum(1)
    with np.errstate(invalid="ignore"):  # 0 / 0
        jaccard = both / (size[pairs[0]] + size[pairs[1]] - both)
    rule, other = np.asarray(names)[np.stack(pairs)]
    columns = {"jaccard": jaccard, "rank_correlation": correlation[pairs]}
    return pd.DataFrame({"rule": rule, "other": other, **columns})


def score_study(tokens: pd.DataFrame, rules: Sequence[Rule], baseline: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All rules on every sampled step of every cell: frames of `records.STUDY_SHADOW` and `records.STUDY_OVERLAP`.

    The overlap is computed only on the rollouts of the baseline, which has run; ``tokens`` are `records.STUDY_TOKENS`.
    """
    shadows, overlaps = [], []
    for _, rows in tokens.groupby([*CELL, "step"], sort=False):
        cell: dict[str, Any] = {column: rows[column].iloc[0] for column in CELL}
        shadow, pairs = score_step(rows, rules, int(cell["seed"]))
        shadows.append(shadow.assign(**cell))
        if cell["variant"] == baseline:
            overlaps.append(pairs.assign(**cell))
    return pd.concat(shadows, ignore_index=True), pd.concat(overlaps, ignore_index=True)
