"""The calibration that the package carries: how often intervals hold the truth and tests err, by size and seeds.

`python -m ict_core.calibration.measure` has measured and written it; here it is only read.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pandas as pd

from ict_core.errors import UserError

FILE = Path(__file__).with_name("calibration.csv")
PLAIN = "plain"  # the case without shared seeds, effects of problems, collapsing runs
NEW, NONE = "new problems", "no difference"  # which true difference: over new problems, or none
_STUDY, _QUESTION = ("case", "size", "benchmarks", "problems", "seeds"), ("quantity", "method", "truth", "role")
COLUMNS = (*_STUDY, *_QUESTION, "nominal", "rate", "error", "repetitions", "verdict")


@lru_cache
def stored() -> pd.DataFrame:
    """The calibration that the package carries, a frame of :data:`COLUMNS`. Copy it before changing it."""
    try:
        frame = pd.read_csv(FILE)
    except FileNotFoundError as error:
        raise UserError("the stored calibration is missing; run python -m ict_core.calibration.measure") from error
    if list(frame.columns) != list(COLUMNS):
        raise UserError("the stored calibration has other columns; run python -m ict_core.calibration.measure")
    return frame


def _smaller(problems: int, average: bool, seeds: int) -> pd.DataFrame:
    """The plain case's rows of studies with no more problems and seeds, of averages or of single benchmarks."""
    frame = stored()
    frame = frame[(frame["case"] == PLAIN) & ((frame["benchmarks"] > 1) == average)]
    return frame[(frame["problems"] <= problems) & (frame["seeds"] <= seeds)]


def coverage(method: str, problems: Sequence[int], seeds: int) -> float:
    """The measured coverage of a method's nominal 95 % interval for a difference, a share.

    Read at the nearest calibrated size and number of seeds at or below the study's: a single benchmark is compared
    with single benchmarks and an average with averages, by their problems together (`problems`: of each benchmark). NaN
    where the study is smaller than every calibrated one, or the method has no interval.
    """
    return _coverage(method, sum(problems), len(problems) > 1, seeds)


@lru_cache(maxsize=1024)
def _coverage(method: str, problems: int, average: bool, seeds: int) -> float:
    frame = _smaller(problems, average, seeds)
    frame = frame[(frame["quantity"] == "difference") & (frame["method"] == method) & frame["truth"].isin([NEW, NONE])]
    return float(frame.sort_values(["problems", "seeds"])["rate"].iloc[-1]) if len(frame) else float("nan")


def nearest(problems: Sequence[int], seeds: int) -> pd.DataFrame:
    """The rows for averages at the calibrated size and number of seeds nearest to a study's, at or below them.

    Arguments as of :func:`coverage`, two benchmarks or more; no rows where the study is smaller than each calibrated.
    """
    frame = _smaller(sum(problems), True, seeds)
    return frame[(frame["problems"] == frame["problems"].max()) & (frame["seeds"] == frame["seeds"].max())]
