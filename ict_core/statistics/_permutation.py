"""Tests of runs by rearranging them: exact where the arrangements can be counted, from random ones beyond.

`scipy.stats.permutation_test` rearranges. It is given signs and places in the place of values, so that one product
makes the statistics of many samples at once, and whether a statistic is as extreme as the observed one in the place of
the statistic: its own tolerance for ties is relative, and none where the observed statistic is 0.
"""

from collections.abc import Callable
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ict_core.statistics._intervals import ROUNDING, Floats

EXACT_PAIRS = 16  # sign-flips of up to so many pairs are counted: 65,536
EXACT_SPLITS = 200_000  # as are so many splits of two samples: up to 10 runs each
DRAWN = 100_000  # arrangements drawn where they are not counted
_CHUNK = 2**22  # numbers held at once


def sign_flip_floor(pairs: int) -> float:
    """The smallest p of a sign-flip or signed-rank test of so many pairs: 2 / 2^n, or that of the drawn flips."""
    return 2.0 / 2**pairs if pairs <= EXACT_PAIRS else 1 / (DRAWN + 1)


def two_sample_floor(ours: int, theirs: int) -> float:
    """The smallest p of a two-sample permutation test: 2 / C(n + m, n) where n = m, or that of the drawn splits.

    With unequal arms no split mirrors the observed one: 1 / C(n + m, n).
    """
    splits = comb(ours + theirs, ours)
    return (1 + (ours == theirs)) / splits if splits <= EXACT_SPLITS else 1 / (DRAWN + 1)


def _values(values: ArrayLike, test: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{test} needs at least one finite value, not {values!r}")
    return array


def _least(values: Floats, observed: Floats) -> Floats:
    """How far from 0 a statistic must lie to be as extreme as the observed one, up to rounding, shape (samples,)."""
    return np.abs(observed) - ROUNDING * np.maximum(1.0, np.abs(values).max(axis=1))


def _share(
    as_extreme: Callable[..., NDArray[np.bool_]],
    rearranged: tuple[Floats, ...],
    kind: Literal["samples", "independent"],
    batch: int,
    generator: np.random.Generator | None,
) -> Floats:
    """The share of arrangements that are as extreme, shape (samples,); all of them unless there is a generator."""
    return stats.permutation_test(
        rearranged,
        as_extreme,
        permutation_type=kind,
        vectorized=True,
        n_resamples=EXACT_SPLITS if generator is None else DRAWN,  # all, where there are no more
        batch=max(1, batch),
        alternative="greater",
        rng=generator,
    ).pvalue


def _generator(exact: bool, generator: np.random.Generator | None, test: str) -> np.random.Generator | None:
    """The generator where arrangements are drawn, None where they are counted."""
    if not exact and generator is None:
        raise ValueError(f"{test}: too many arrangements to count; give a generator to draw {DRAWN} of them")
    return None if exact else generator


def sign_flip(differences: ArrayLike, generator: np.random.Generator | None = None) -> Floats:
    """Two-sided sign-flip test of a mean of 0 (Fisher 1935): every paired difference could have had the other sign.

    Exact for up to :data:`EXACT_PAIRS` pairs, p is then a multiple of 2 / 2^n; otherwise from the generator's flips.
    From shape (..., pairs) to (...); 1 where the differences are all 0. No value, one that is not finite, or too many
    pairs without a generator are a ValueError.
    """
    array = _values(differences, "a sign-flip test")
    *shape, pairs = array.shape
    if pairs == 1:  # the flip is as far from 0; scipy refuses a sample of one value
        return np.ones(shape)
    samples = array.reshape(-1, pairs)
    least = _least(samples, samples.mean(axis=1))

    def as_extreme(signs: Floats, axis: int) -> NDArray[np.bool_]:
        return np.abs(signs @ samples.T) / pairs >= least

    draws = _generator(pairs <= EXACT_PAIRS, generator, f"a sign-flip of {pairs} pairs")
    return _share(as_extreme, (np.ones(pairs),), "samples", _CHUNK // len(samples), draws).reshape(shape)


def two_sample(ours: ArrayLike, theirs: ArrayLike, generator: np.random.Generator | None = None) -> Floats:
    """Two-sided permutation test of two unpaired samples' means (Pitman 1937): any run could have been any arm's.

    Exact for up to :data:`EXACT_SPLITS` splits, otherwise from the generator's. From shapes (..., n) and (..., m) to
    (...); 1 where all values are equal. Errors as of :func:`sign_flip`, and leading shapes that differ.
    """
    a, b = _values(ours, "a permutation test"), _values(theirs, "a permutation test")
    if a.shape[:-1] != b.shape[:-1]:
        raise ValueError(f"a permutation test: shapes {a.shape} and {b.shape} differ before the last axis")
    *shape, n = a.shape
    m = b.shape[-1]
    samples = np.concatenate([a, b], axis=-1).reshape(-1, n + m)
    least = _least(samples, samples[:, :n].mean(axis=1) - samples[:, n:].mean(axis=1))
    each = np.eye(n + m)

    def as_extreme(ours: NDArray[np.int64], theirs: NDArray[np.int64], axis: int) -> NDArray[np.bool_]:
        weights = each[ours].sum(axis=-2) / n - each[theirs].sum(axis=-2) / m
        return np.abs(weights @ samples.T) >= least

    places = np.arange(n + m)
    if 1 in (n, m):  # every place is the lone run's in turn; scipy refuses an arm of one run
        lone, others = places[:, None], np.array([np.delete(places, place) for place in places])
        extreme = as_extreme(lone, others, -1) if n == 1 else as_extreme(others, lone, -1)
        return extreme.mean(axis=0).reshape(shape)
    draws = _generator(comb(n + m, n) <= EXACT_SPLITS, generator, f"a permutation of {n} + {m} runs")
    batch = _CHUNK // max(len(samples), (n + m) ** 2)
    return _share(as_extreme, (places[:n], places[n:]), "independent", batch, draws).reshape(shape)


def signed_rank(differences: ArrayLike, generator: np.random.Generator | None = None) -> Floats:
    """Wilcoxon's (1945) two-sided signed-rank test: the sign-flip test of the ranks of the absolute differences.

    Ties share their mean rank and zeros get none, and the p value is exact with them too (`scipy.stats.wilcoxon`'s
    "exact" is so without them only). Arguments, result and errors as of :func:`sign_flip`.
    """
    array = _values(differences, "a signed-rank test")
    size = np.round(np.abs(array), 12)  # so that differences which are equal but for rounding tie
    ranks = stats.rankdata(size, axis=-1) - (size == 0).sum(axis=-1, keepdims=True)
    return sign_flip(np.where(size == 0, 0.0, np.sign(array) * ranks), generator)
