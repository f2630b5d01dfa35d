import numpy as np
import pandas as pd
from one_sample import t_interval

from ict_core.statistics.intervals import over_seeds


def test_means_and_intervals_are_those_of_the_runs_that_have_a_value():
    runs = {
        ("b", 1.0): [0.1, 0.5, 0.3],
        ("a", np.nan): [0.2, np.nan, 0.4],
        ("c", 0.0): [0.7, np.nan],
        ("d", 0.0): [np.nan],
    }
    rows = [(*key, seed, value) for key, values in runs.items() for seed, value in enumerate(values)]
    found = over_seeds(pd.DataFrame(rows, columns=["name", "edge", "seed", "value"]), ["name", "edge"])
    assert found["name"].tolist() == ["b", "a", "c", "d"] and found["seeds"].tolist() == [3, 2, 1, 0]
    for row, values in zip(found.itertuples(), runs.values(), strict=True):
        known = [v for v in values if not np.isnan(v)]
        expected = t_interval(known)[:3] if known else [np.nan] * 3
        np.testing.assert_allclose([row.mean, row.low, row.high], expected, rtol=1e-12)


def test_equal_values_have_no_interval():
    found = over_seeds(pd.DataFrame({"name": "a", "seed": range(3), "value": 1 / 3}), ["name"])
    assert found["mean"].tolist() == [1 / 3] and found[["low", "high"]].isna().all(axis=None)
