"""The readings of ICT that the paper leaves open, crossed: which give the figures that it prints of the kept tokens."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from ict_core.statistics.elbow import elbow, mean_sorted_curve
from ict_core.statistics.intervals import over_seeds
from ict_core.store import records
from ict_core.store.token_scores import READING_REFERENCES
from ict_core.tokens.distributions import (
    SMALLEST_DIVERGENCE,
    alone_with_zeros,
    jensen_shannon,
    leave_one_out_mean,
    shannon_entropy,
)

KEPT = Fraction(1, 10)
TEMPERATURES = (0.6, 1.0)  # at which the policy may be read
TOP = 20  # tokens of a restricted distribution, the most that vLLM gives by default
QUANTITIES = {"p(a)": "p", "P_avg(a)": "reference_p", "beta": "purity", "beta of P_avg": "reference_purity"}
"""What the printed probability of a token a may be, and its column in `records.READING_TOKENS`."""
CUTS = ("median", "mean", "80 % quantile", "median of the kept")
"""Thresholds of H1, over all tokens unless stated; by the last, half of the kept tokens are high by construction."""
SCOPES = {"sequence": ["group", "rollout"], "group": ["group"], "batch": ["temperature"]}
"""The tokens among which a score is high, by the columns that they have in common."""
FIGURES = {"probability": "probability_of_kept", "high_share": "high_entropy_share_of_kept", "elbow": "elbow"}
"""The three figures, and their names in the ledger."""

Ranges = Mapping[str, tuple[float, float]]


def token_readings(probs: Tensor, ids: Tensor, mask: Tensor, unigram: Tensor) -> pd.DataFrame:
    """Every token of a group under each reference: `records.READING_TOKENS` without group and temperature.

    Rows are sorted by rollout and position. A score below `SMALLEST_DIVERGENCE` is 0, as in a training.

    Args:
        probs: (G, T, V), the policy's distributions, at the temperature at which they are read.
        ids: (G, T), the tokens drawn.
        mask: (G, T), True at the response, which begins at 0.
        unigram: (V,), the frequencies of the tokens of all responses.
    """
    probs = probs * mask.unsqueeze(-1)
    over_time = probs.sum(1) / mask.sum(1, keepdim=True)
    overall = probs.sum((0, 1)) / mask.sum()
    parts = []
    for position in range(int(mask.sum(1).max())):
        rollouts = mask[:, position].nonzero().squeeze(-1)
        p, sampled = probs[rollouts, position], ids[rollouts, position, None]
        means = {"sequence": over_time[rollouts], "group": overall.expand_as(p), "unigram": unigram.expand_as(p)}
        means["previous"] = probs[rollouts, position - 1] if position else p
        fields = {"p": p.gather(1, sampled).squeeze(1), "purity": p.square().sum(1), "h1": shannon_entropy(p.log())}
        for name, (score, q) in _references(p, len(mask), means):
            fields[f"score_{name}"] = score.masked_fill(score < SMALLEST_DIVERGENCE, 0.0)
            fields[f"reference_p_{name}"] = q.gather(1, sampled).squeeze(1)
            fields[f"reference_purity_{name}"] = q.square().sum(1)
        fields |= {"rollout": rollouts, "position": torch.full_like(rollouts, position)}
        parts.append(torch.stack([values.double() for values in fields.values()], 1))
    frame = pd.DataFrame(torch.cat(parts).numpy(), columns=list(fields)).astype({"rollout": int, "position": int})
    return frame.sort_values(["rollout", "position"], ignore_index=True)


def _references(p: Tensor, size: int, means: Mapping[str, Tensor]) -> Iterator[tuple[str, tuple[Tensor, Tensor]]]:
    """Score, (n,), and reference, (n, V), of each of `READING_REFERENCES` at one position.

    ``p``, (n, V), are the distributions of the n live rollouts of ``size``; ``means`` the references over positions.
    """
    live, vocabulary = p.shape
    total = p.sum(0, keepdim=True).expand_as(p)
    top = p.topk(min(TOP, vocabulary), -1)
    few = torch.zeros_like(p).scatter(-1, top.indices, top.values / top.values.sum(-1, keepdim=True))
    made = {
        "position": total / live,
        "zeros": total / size,
        "padded": (total + (size - live) / vocabulary) / size,
        "uniform": torch.full_like(p, 1 / vocabulary),
        **means,
    }
    for name in READING_REFERENCES:
        if name == "pairwise":
            pairs = torch.stack([jensen_shannon(p, other) for other in p]).sum(0) / max(live - 1, 1)
            yield name, (pairs, leave_one_out_mean(p, torch.ones(live, dtype=torch.bool)))
        elif name == "top":
            q = few.mean(0, keepdim=True).expand_as(p)
            yield name, (jensen_shannon(few, q), q)
        else:
            score = jensen_shannon(p, made[name])
            if name == "zeros" and live == 1:  # the same for all such tokens: rounding must not rank them
                score = torch.full_like(score, alone_with_zeros(size))
            yield name, (score, made[name])


def crossing(tokens: pd.DataFrame, ranges: Ranges) -> pd.DataFrame:
    """A row per reading: `records.READINGS` without the set, from `records.READING_TOKENS` of some prompts.

    All prompts are one batch. Figures are means over prompts, each of which counts once, with t intervals; a prompt
    without a kept token or without an elbow has no value. An elbow is that of a prompt's mean sorted scores over its
    sequences or, if the scope is wider, of all its tokens. It is in its range only if most prompts have one. ``ranges``
    are those of :data:`FIGURES`, ends included.
    """
    parts = []
    for temperature, rows in tokens.groupby("temperature"):
        ordered = rows.sort_values(["group", "rollout", "position"], ignore_index=True)
        for reference in READING_REFERENCES:
            for scope in SCOPES:
                cells = _cells(ordered, reference, scope)
                parts.append(cells.assign(reference=reference, scope=scope, temperature=temperature))
    cells = pd.concat(parts, ignore_index=True)
    for figure, (low, high) in ranges.items():
        cells[f"{figure}_fits"] = cells[figure].between(low, high)
    cells["elbow_fits"] &= 2 * cells["elbow_prompts"] > cells["prompts"]
    cells["meets"] = cells[[f"{figure}_fits" for figure in FIGURES]].all(axis=1)
    return cells[[column for column in records.READINGS if column != "set"]]


def _cells(rows: pd.DataFrame, reference: str, scope: str) -> pd.DataFrame:
    """The readings of one reference and scope: a row per quantity and cut."""
    score, h1 = rows[f"score_{reference}"].to_numpy(), rows["h1"].to_numpy()
    keys = rows.groupby(SCOPES[scope]).ngroup().to_numpy().astype(np.int64)
    kept = kept_tokens(score, keys)
    limits = (np.median(h1), h1.mean(), np.quantile(h1, 0.8), np.median(h1[kept]))
    columns = {
        name: rows[column if column in rows else f"{column}_{reference}"].to_numpy()
        for name, column in QUANTITIES.items()
    }
    columns |= {cut: np.heaviside(h1 - limit, 0.5) for cut, limit in zip(CUTS, limits, strict=True)}
    lists = rows["rollout"].to_numpy() * (scope == "sequence")
    places = rows.groupby("group").indices
    elbows = [elbow(mean_sorted_curve(score[at], lists[at])) for at in places.values()]
    by_prompt = pd.DataFrame(columns)[kept].groupby(rows["group"][kept]).mean().reindex(list(places))
    by_prompt = by_prompt.assign(elbow=elbows)
    means = over_seeds(by_prompt.melt(var_name="figure"), ["figure"]).set_index("figure")
    cells = pd.DataFrame([(q, cut) for q in QUANTITIES for cut in CUTS], columns=["quantity", "cut"])
    for figure, name in {"probability": "quantity", "high_share": "cut", "elbow": "elbow"}.items():
        cell_means = means.reindex(cells[name] if name in cells else [name] * len(cells))
        for end, column in {"": "mean", "_low": "low", "_high": "high"}.items():
            cells[figure + end] = cell_means[column].to_numpy()
    cells["elbow_prompts"] = int(means["seeds"]["elbow"])
    return cells.assign(kept_share=kept.mean(), median_h1=limits[0], tokens=len(rows), prompts=len(places))


def kept_tokens(score: NDArray[np.float64], keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a token is among the highest tenth of those with its key, rounded up, ties to the earlier; (N,)."""
    by_key = pd.Series(score).groupby(keys)
    rank, count = by_key.rank(method="first", ascending=False), by_key.transform("size")
    return (rank <= -(-count * KEPT.numerator // KEPT.denominator)).to_numpy(bool)
