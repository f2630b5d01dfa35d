"""The interval of one sample in plain numbers, for frames and tables made by hand.

It is the library's own, which `tests/statistics/test_intervals.py` holds against scipy.
"""

from typing import NamedTuple

import numpy as np

from ict_core.statistics import over_runs


class Interval(NamedTuple):
    """A mean over n values with its limits, NaN where there is none."""

    mean: float
    low: float
    high: float
    n: int


def t_interval(values):
    """`over_runs` of one sample, shape (n,)."""
    if np.ndim(values) != 1:
        raise ValueError(f"an interval needs a list of at least one finite value, not {values!r}")
    found = over_runs(values)
    return Interval(float(found.mean), float(found.low), float(found.high), len(values))
