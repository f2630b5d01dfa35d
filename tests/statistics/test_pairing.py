"""Which runs stand beside each other."""

import numpy as np
import pandas as pd

from ict_core.statistics.pairing import paired_differences, shared_seeds


def test_the_seeds_of_both_in_the_order_of_ours():
    assert shared_seeds((3, 1, 2), (2, 3, 4)) == [3, 2] and shared_seeds((1,), ()) == []


def test_differences_rise_by_seed_and_leave_out_what_one_arm_lacks():
    ours = pd.Series([0.9, 0.5, np.nan, 0.7], index=[4, 1, 2, 3])
    theirs = pd.Series([0.2, 0.1, 0.3, 0.4], index=[1, 2, 4, 9])
    found = paired_differences(ours, theirs)
    assert found.index.tolist() == [1, 4] and found.tolist() == [0.5 - 0.2, 0.9 - 0.3]
    assert paired_differences(ours, theirs.loc[[9]]).empty
