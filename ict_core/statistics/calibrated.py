"""The stored calibration: how often intervals cover the truth and how often tests err, by study size and seeds.

`python scripts/calibration.py` measures and writes it. This module only reads it.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pandas as pd

FILE = Path(__file__).with_name("calibration.csv")
PLAIN = "plain"  # the case without shared seeds, effects of problems or collapsing runs
NEW = "new problems"
_STUDY, _QUESTION = ("case", "size", "benchmarks", "problems", "seeds"), ("quantity", "method", "truth", "role")
COLUMNS = (*_STUDY, *_QUESTION, "nominal", "rate", "error", "repetitions", "verdict")


@lru_cache
def stored() -> pd.DataFrame:
    """The calibration in the package, a frame with the columns :data:`COLUMNS`. Copy it before changing it."""
    return pd.read_csv(FILE)


def nearest(problems: Sequence[int], seeds: int) -> pd.DataFrame:
    """The plain case's rows, at the largest size and number of seeds that do not exceed a study's.

    A study's size is the number of problems of all its benchmarks together; `problems` has that of each. For several
    benchmarks the rows are those for averages, for one those for one.
    There are no rows if the study is smaller than every calibrated one.
    """
    frame = stored()
    frame = frame[(frame["case"] == PLAIN) & ((frame["benchmarks"] > 1) == (len(problems) > 1))]
    frame = frame[(frame["problems"] <= sum(problems)) & (frame["seeds"] <= seeds)]
    return frame[(frame["problems"] == frame["problems"].max()) & (frame["seeds"] == frame["seeds"].max())]
