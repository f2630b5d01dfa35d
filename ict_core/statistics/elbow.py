"""The elbow of sorted token scores: where their falling curve turns from steep to flat."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ict_core.errors import UserError

POINTS = 100  # of a mean curve: one for each percent of the tokens
STRAIGHT = 1e-9  # a curve whose normalised distance to its chord is no larger has no elbow


def elbow(sorted_scores: ArrayLike) -> float:
    """The share of the scores at the elbow: the point of largest distance below the chord from first to last point.

    This is the "kneedle" rule for a falling curve (Satopaa et al. 2011, without smoothing): ranks and scores are scaled
    to [0, 1], so that the chord falls from (0, 1) to (1, 0) and the distance of (x, y) to it is proportional to
    1 - x - y. Of several points at the same distance the first is taken. The share, in (0, 1], is the rank of the elbow
    (from 1) over n, for scores of shape (n,). It is NaN for fewer than three scores, or if the curve is level, straight
    or nowhere below its chord. A ValueError if the scores are not a list, not finite, or rising.
    """
    scores = np.asarray(sorted_scores, dtype=np.float64)
    if scores.ndim != 1 or not np.isfinite(scores).all():
        raise ValueError(f"an elbow needs a list of finite scores, not an array of shape {scores.shape} or with NaN")
    if (np.diff(scores) > 0).any():
        raise ValueError("an elbow needs scores sorted from the largest to the smallest")
    if scores.size < 3 or scores[0] == scores[-1]:
        return float("nan")
    rank = np.linspace(0.0, 1.0, scores.size)
    distance = 1.0 - rank - (scores - scores[-1]) / (scores[0] - scores[-1])
    furthest = int(distance.argmax())
    return (furthest + 1) / scores.size if distance[furthest] > STRAIGHT else float("nan")


def mean_sorted_curve(scores: ArrayLike, sequences: ArrayLike, points: int = POINTS) -> NDArray[np.float64]:
    """The mean over sequences of their scores, sorted from large to small, at each share of the tokens.

    Point i is at the share s = (i + 1) / points. There a sequence of T tokens has its ceil(s T)-th largest score, the
    smallest that a rule keeps if it keeps the share s of the sequence. Every sequence has the same weight.

    `scores` has a score for each token, finite (else a UserError); `sequences` has its sequence, of any sortable type;
    both have shape (tokens,). The result is a falling curve, shape (points,), as :func:`elbow` takes it.
    """
    values, groups = np.asarray(scores, dtype=np.float64), np.asarray(sequences)
    if values.ndim != 1 or values.shape != groups.shape or values.size == 0:
        raise ValueError(f"a curve needs one score a token: {values.shape} scores, {groups.shape} sequences")
    if not np.isfinite(values).all():
        raise UserError("a curve needs finite scores; a sampled token has another")
    _, of_token, lengths = np.unique(groups, return_inverse=True, return_counts=True)
    ordered = values[np.lexsort((-values, of_token))]
    starts = np.cumsum(lengths) - lengths
    ranks = -(-np.arange(1, points + 1) * lengths[:, None] // points)  # ceil(s T) in integers, (sequences, points)
    return ordered[starts[:, None] + ranks - 1].mean(axis=0)
