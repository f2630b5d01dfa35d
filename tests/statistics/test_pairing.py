"""Which runs stand beside each other."""

import numpy as np
import pandas as pd

from ict_core.statistics.pairing import both_ways, limits_by, paired_differences, seed_range, shared_seeds, shares_kept
from ict_core.statistics.schemas import AVERAGE


def test_the_seeds_of_both_in_the_order_of_ours():
    assert shared_seeds((3, 1, 2), (2, 3, 4)) == [3, 2] and shared_seeds((1,), ()) == []


def test_differences_rise_by_seed_and_leave_out_what_one_arm_lacks():
    ours = pd.Series([0.9, 0.5, np.nan, 0.7], index=[4, 1, 2, 3])
    theirs = pd.Series([0.2, 0.1, 0.3, 0.4], index=[1, 2, 4, 9])
    found = paired_differences(ours, theirs)
    assert found.index.tolist() == [1, 4] and found.tolist() == [0.5 - 0.2, 0.9 - 0.3]
    assert paired_differences(ours, theirs.loc[[9]]).empty


def test_seeds_in_words():
    words = [seed_range(pd.Series(s, dtype=int)) for s in ([], [1], [3, 3], [2, 3])]
    assert words == ["no training seeds", "1 training seed", "3 training seeds", "2 to 3 training seeds"]


def test_the_share_kept_is_the_method_s_and_not_the_name_s():
    kept = {"ict-20": 20, "random-10": 10, "ict-5": 5, "ict-10": 25, "gmts-20-code": 20, "fine": 2.5}
    ran = ["grpo", "ict-20", "random-10", "ict-5", "ict-10", "mastered-99", "gmts-20-code", "fine"]
    assert list(shares_kept(ran, kept).items()) == [
        ("ict-5", ("ict", 5)),
        ("ict-20", ("ict", 20)),
        ("ict-10", ("ict", 25)),
        ("random-10", ("random", 10)),
        ("gmts-20-code", ("gmts-20-code", 20)),
        ("fine", ("fine", 2.5)),
    ]


def test_limits_are_found_by_the_values_of_a_key():
    rows = [("m", "a", 0.5, 0.4, 0.7, 3), ("m", "b", 0.6, 0.1, 0.8, 4)]
    means = pd.DataFrame(rows, columns=["model", "variant", "mean", "low", "high", "seeds"])
    assert limits_by(means, ["variant", "seeds"]) == {("a", 3): (0.5, 0.4, 0.7), ("b", 4): (0.6, 0.1, 0.8)}


def test_a_contrast_is_found_from_either_side():
    columns = ["model", "variant", "baseline", "benchmark", "metric", "difference", "low", "high"]
    columns += ["two_way_low", "two_way_high", "p", "verdict"]
    rows = [
        ("m", "a", "b", AVERAGE, "pass@1", 0.3, 0.1, 0.6, 0.0, 0.7, 0.01, "better"),
        ("m", "a", "c", AVERAGE, "pass@1", -0.2, -0.3, -0.1, -0.4, 0.1, 0.02, "worse"),
        ("m", "c", "a", AVERAGE, "pass@1", 0.2, 0.1, 0.3, -0.1, 0.4, 0.03, "better"),  # the one above, stated too
        ("m", "b", "c", AVERAGE, "pass@4", 0.0, -0.1, 0.1, -0.2, 0.2, 1.0, "equivalent"),
        ("m", "a", "b", "other", "pass@1", 0.9, 0.8, 1.0, 0.8, 1.0, 0.01, "better"),
    ]
    stated = pd.DataFrame(rows, columns=columns)
    turned = [
        ("m", "b", "a", AVERAGE, "pass@1", -0.3, -0.6, -0.1, -0.7, 0.0, 0.01, "worse"),
        ("m", "c", "b", AVERAGE, "pass@4", 0.0, -0.1, 0.1, -0.2, 0.2, 1.0, "equivalent"),
    ]
    found = both_ways(stated)
    assert list(found.columns) == columns
    pd.testing.assert_frame_equal(found.reset_index(drop=True), pd.DataFrame(rows[:4] + turned, columns=columns))
