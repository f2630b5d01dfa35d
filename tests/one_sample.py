"""The interval of one sample in plain numbers, for frames and tables made by hand.

It is the library's own, which `tests/statistics/test_intervals.py` holds against scipy.
"""

from typing import NamedTuple

from ict_core.statistics.intervals import over_runs


class Interval(NamedTuple):
    """A mean over n values with its limits, NaN where there is none."""

    mean: float
    low: float
    high: float
    n: int


def t_interval(values):
    """`over_runs` of one sample, a list of n values."""
    found = over_runs(values)
    return Interval(float(found.mean), float(found.low), float(found.high), len(values))
