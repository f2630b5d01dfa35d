"""The calibration that the package carries: how often intervals hold the truth and tests err, by size and seeds.

`python scripts/calibration.py` has measured and written it; here it is only read.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pandas as pd

FILE = Path(__file__).with_name("calibration.csv")
PLAIN = "plain"  # the case without shared seeds, effects of problems, collapsing runs
NEW = "new problems"
_STUDY, _QUESTION = ("case", "size", "benchmarks", "problems", "seeds"), ("quantity", "method", "truth", "role")
COLUMNS = (*_STUDY, *_QUESTION, "nominal", "rate", "error", "repetitions", "verdict")


@lru_cache
def stored() -> pd.DataFrame:
    """The calibration that the package carries, a frame of :data:`COLUMNS`. Copy it before changing it."""
    return pd.read_csv(FILE)


def nearest(problems: Sequence[int], seeds: int) -> pd.DataFrame:
    """The plain case's rows for averages at the size and number of seeds nearest to a study's, at or below them.

    A study's size are the problems of all its benchmarks together (`problems`: of each), two benchmarks or more. There
    are no rows where it is smaller than each calibrated one.
    """
    frame = stored()
    frame = frame[(frame["case"] == PLAIN) & (frame["benchmarks"] > 1)]
    frame = frame[(frame["problems"] <= sum(problems)) & (frame["seeds"] <= seeds)]
    return frame[(frame["problems"] == frame["problems"].max()) & (frame["seeds"] == frame["seeds"].max())]
