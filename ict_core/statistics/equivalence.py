"""Two one-sided tests: is a difference surely within given limits?"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ict_core.errors import UserError


def two_one_sided(estimate: ArrayLike, se: ArrayLike, df: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    """The larger p of the two one-sided t-tests that a mean is not above `low` and not below `high`.

    A small p shows that the mean lies within the limits (Schuirmann 1987): the methods are equivalent for them.

    Args:
        estimate: the mean difference, shape (...).
        se: its standard error, shape (...); NaN where there is none.
        df: its degrees of freedom, shape (...).
        low: the lower limit, in the unit of `estimate`.
        high: the upper one.

    Returns:
        Shape (...); NaN where `se` is.

    Raises:
        UserError: the lower limit is not below the upper one.
    """
    if not low < high:
        raise UserError(f"equivalence limits {low} to {high}: the lower must lie below the upper")
    mean, error, free = (np.asarray(a, dtype=np.float64) for a in (estimate, se, df))
    above_low, below_high = stats.t.sf((mean - low) / error, free), stats.t.cdf((mean - high) / error, free)
    return np.asarray(np.maximum(above_low, below_high))
