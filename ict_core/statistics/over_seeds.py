"""Values of training runs, one a seed, as means with intervals."""

from collections.abc import Sequence

import pandas as pd

from ict_core.statistics.intervals import student


def over_seeds(values: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The mean of `value` in each group with its 95 % t interval (`intervals.over_runs`), over the runs that have one.

    Args:
        values: a row a run: the columns `by`, which may hold NaN, and `value`, which is NaN where a run has none.
        by: what a group has in common, all but the seed.

    Returns:
        `by`, mean, low, high and seeds (runs with a value), a row a group as they first come; what does not exist is
        NaN.
    """
    of_group = values.groupby(list(by), sort=False, dropna=False)["value"]
    mean, seeds = of_group.mean(), of_group.count()
    found = student(mean, of_group.var() / seeds, seeds - 1)
    return mean.rename("mean").to_frame().assign(low=found.low, high=found.high, seeds=seeds).reset_index()
