"""Tests of runs by rearranging them: exact where the arrangements can be counted, from random ones beyond."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ict_core.statistics.intervals import ROUNDING

EXACT_PAIRS = 16  # sign-flips of up to so many pairs are counted: 65,536
EXACT_SPLITS = 200_000  # as are so many splits of two samples: up to 10 runs each
DRAWN = 100_000  # arrangements drawn where they are not counted
_CHUNK = 2**22  # numbers held at once

Floats = NDArray[np.float64]


def sign_flip_floor(pairs: int) -> float:
    """The smallest p of a sign-flip or signed-rank test of so many pairs: 2 / 2^n, or that of the drawn flips."""
    return 2.0 / 2**pairs if pairs <= EXACT_PAIRS else 1 / (DRAWN + 1)


def two_sample_floor(ours: int, theirs: int) -> float:
    """The smallest p of a two-sample permutation test: 2 / C(n + m, n) where n = m, or that of the drawn splits.

    With unequal arms no split mirrors the observed one, so that the floor is 1 / C(n + m, n).
    """
    splits = comb(ours + theirs, ours)
    return (1 + (ours == theirs)) / splits if splits <= EXACT_SPLITS else 1 / (DRAWN + 1)


@lru_cache(maxsize=32)
def _signs(pairs: int) -> Floats:
    """Half of all sign vectors, shape (2^(pairs - 1), pairs): the first sign is +, the others' mirrors are left out."""
    bits = np.arange(2 ** (pairs - 1))[:, None] >> np.arange(pairs)[None]
    return 1.0 - 2.0 * np.roll(bits & 1, 1, axis=1)


@lru_cache(maxsize=8)
def _splits(ours: int, theirs: int) -> Floats:
    """Weights of every split, shape (C(n + m, n), n + m): 1/n for the one part, -1/m for the other; observed first."""
    chosen = np.array(list(combinations(range(ours + theirs), ours)))
    weights = np.full((len(chosen), ours + theirs), -1.0 / theirs)
    np.put_along_axis(weights, chosen, 1.0 / ours, axis=1)
    return weights


def _chunks(weights: Floats, samples: int) -> Iterator[Floats]:
    rows = max(1, _CHUNK // max(samples, 1))
    for start in range(0, len(weights), rows):
        yield weights[start : start + rows]


def _share_as_extreme(values: Floats, observed: Floats, weights: Floats, drawn: bool) -> Floats:
    """The share of arrangements whose statistic is as far from 0 as the observed one, up to rounding.

    Args:
        values: shape (samples, n).
        observed: statistics, shape (samples,).
        weights: arrangements, shape (arrangements, n).
        drawn: whether the arrangements are a random sample, to which the observed one is then added.
    """
    size = np.maximum(1.0, np.abs(values).max(axis=1))
    least = np.abs(observed) - ROUNDING * size
    extreme = np.zeros(len(values))
    for part in _chunks(weights, len(values)):
        extreme += (np.abs(values @ part.T) >= least[:, None]).sum(axis=1)
    return (extreme + drawn) / (len(weights) + drawn)


def _values(values: ArrayLike, what: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{what} needs at least one finite value, not {values!r}")
    return array


def _generator(generator: np.random.Generator | None, what: str) -> np.random.Generator:
    if generator is None:
        raise ValueError(f"{what}: too many arrangements to count; give a generator to draw {DRAWN} of them")
    return generator


def sign_flip(differences: ArrayLike, generator: np.random.Generator | None = None) -> Floats:
    """Two-sided sign-flip test of a mean of 0 (Fisher 1935): every paired difference could have had the other sign.

    Exact for up to :data:`EXACT_PAIRS` pairs, p is then a multiple of 2 / 2^n; otherwise from random flips.

    Args:
        differences: paired differences, shape (..., pairs), finite.
        generator: needed beyond :data:`EXACT_PAIRS`.

    Returns:
        p, shape (...); 1 where the differences are all 0.

    Raises:
        ValueError: no value, one that is not finite, or too many pairs without a generator.
    """
    array = _values(differences, "a sign-flip test")
    pairs = array.shape[-1]
    flat = array.reshape(-1, pairs)
    drawn = pairs > EXACT_PAIRS
    if drawn:
        flipped = _generator(generator, f"a sign-flip of {pairs} pairs").integers(0, 2, (DRAWN, pairs), dtype=np.int8)
        signs = 1.0 - 2.0 * flipped
    else:
        signs = _signs(pairs)
    p = _share_as_extreme(flat, flat.mean(axis=1), signs / pairs, drawn)
    return p.reshape(array.shape[:-1])


def two_sample(ours: ArrayLike, theirs: ArrayLike, generator: np.random.Generator | None = None) -> Floats:
    """Two-sided permutation test of two unpaired samples' means (Pitman 1937): any run could have been any arm's.

    Exact for up to :data:`EXACT_SPLITS` splits, otherwise from random ones.

    Args:
        ours: shape (..., n), finite.
        theirs: shape (..., m), finite, the same leading shape.
        generator: needed beyond :data:`EXACT_SPLITS`.

    Returns:
        p, shape (...); 1 where all values are equal.

    Raises:
        ValueError: no value, one that is not finite, leading shapes that differ, or too many splits without a
            generator.
    """
    a, b = _values(ours, "a permutation test"), _values(theirs, "a permutation test")
    if a.shape[:-1] != b.shape[:-1]:
        raise ValueError(f"a permutation test: shapes {a.shape} and {b.shape} differ before the last axis")
    n, m = a.shape[-1], b.shape[-1]
    flat = np.concatenate([a, b], axis=-1).reshape(-1, n + m)
    drawn = comb(n + m, n) > EXACT_SPLITS
    if drawn:
        weights = np.tile(np.repeat([1.0 / n, -1.0 / m], [n, m]), (DRAWN, 1))
        weights = _generator(generator, f"a permutation of {n} + {m} runs").permuted(weights, axis=1)
    else:
        weights = _splits(n, m)
    observed = flat[:, :n].mean(axis=1) - flat[:, n:].mean(axis=1)
    return _share_as_extreme(flat, observed, weights, drawn).reshape(a.shape[:-1])


def signed_rank(differences: ArrayLike, generator: np.random.Generator | None = None) -> Floats:
    """Wilcoxon's (1945) two-sided signed-rank test: the sign-flip test of the ranks of the absolute differences.

    Ties share their mean rank and zeros get none, and the p value is exact with them too, up to :data:`EXACT_PAIRS`
    pairs.

    Args:
        differences: paired differences, shape (..., pairs), finite.
        generator: needed beyond :data:`EXACT_PAIRS`.

    Returns:
        p, shape (...); 1 where the differences are all 0.

    Raises:
        ValueError: no value, one that is not finite, or too many pairs without a generator.
    """
    array = _values(differences, "a signed-rank test")
    size = np.round(np.abs(array), 12)  # so that differences which are equal but for rounding tie
    ranks = stats.rankdata(size, axis=-1) - (size == 0).sum(axis=-1, keepdims=True)
    return sign_flip(np.where(size == 0, 0.0, np.sign(array) * ranks), generator)
