"""The sign-flip test of paired runs: exact where the flips can be counted, from random ones beyond.

`scipy.stats.permutation_test` flips. It is given signs in the place of values, so that one product makes the statistics
of many samples at once, and whether a statistic is as extreme as the observed one in the place of the statistic: its
own tolerance for ties is relative, and none where the observed statistic is 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ict_core.statistics._intervals import ROUNDING, Floats

EXACT_PAIRS = 16  # sign-flips of up to so many pairs are counted: 65,536
DRAWN = 100_000  # flips drawn where they are not counted
_HELD = 2**22  # numbers held at once


def sign_flip_floor(pairs: int) -> float:
    """The smallest p of a sign-flip test of so many pairs: 2 / 2^n, or that of the drawn flips."""
    return 2.0 / 2**pairs if pairs <= EXACT_PAIRS else 1 / (DRAWN + 1)


def sign_flip(differences: ArrayLike, generator: np.random.Generator | None = None) -> Floats:
    """Two-sided sign-flip test of a mean of 0 (Fisher 1935): every paired difference could have had the other sign.

    Exact for up to :data:`EXACT_PAIRS` pairs, p is then a multiple of 2 / 2^n; otherwise from the generator's flips.
    From shape (..., pairs) to (...); 1 where the differences are all 0. No value, one that is not finite, or too many
    pairs without a generator are a ValueError.
    """
    array = np.asarray(differences, dtype=np.float64)
    if array.ndim == 0 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"a sign-flip test needs at least one finite value, not {differences!r}")
    *shape, pairs = array.shape
    if pairs == 1:  # the flip is as far from 0; scipy refuses a sample of one value
        return np.ones(shape)
    exact = pairs <= EXACT_PAIRS
    if not exact and generator is None:
        raise ValueError(f"a sign-flip of {pairs} pairs: too many to count; give a generator to draw {DRAWN} of them")
    samples = array.reshape(-1, pairs)
    rounding = ROUNDING * np.maximum(1.0, np.abs(samples).max(axis=1))
    least = np.abs(samples.mean(axis=1)) - rounding  # so far from 0 a mean is as extreme as the observed one

    def as_extreme(signs: Floats, axis: int) -> NDArray[np.bool_]:
        return np.abs(signs @ samples.T) / pairs >= least

    flipped = stats.permutation_test(
        (np.ones(pairs),),
        as_extreme,
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**EXACT_PAIRS if exact else DRAWN,  # all, where there are no more
        batch=max(1, _HELD // len(samples)),
        alternative="greater",
        rng=None if exact else generator,
    )
    return np.asarray(flipped.pvalue).reshape(shape)
