"""Which benchmarks leave a trained model room to gain: the average that decides is over these."""

import pandas as pd

from ict_core.errors import UserError
from ict_core.statistics.arms import run_frame
from ict_core.statistics.schemas import AVERAGE, BASE, ROUNDING

HEADROOM_METRIC = "pass@4"  # of the base model: no other metric leaves it less room


def with_headroom(scores: pd.DataFrame, room: float | None) -> list[str]:
    """The benchmarks on which every model, untrained, leaves at least so much room, a share, below 1 in pass@4.

    In the order of the scores, a frame of `records.SCORES`; all of them where `room` is None. The rule sees no trained
    model. Where no benchmark is left there is a UserError.
    """
    if room is None:
        return list(map(str, scores["benchmark"].unique()))
    runs = run_frame(scores[scores["variant"] == BASE], [HEADROOM_METRIC])
    runs = runs[runs["benchmark"] != AVERAGE]
    most = runs.groupby(["benchmark", "model"], sort=False)["value"].mean().groupby(level="benchmark", sort=False).max()
    left = [str(name) for name, value in most.items() if 1 - value >= room - ROUNDING]
    if not left:
        rooms = ", ".join(f"{name} {100 * value:.1f}" for name, value in most.items())
        raise UserError(
            f"evidence.validity.headroom_points {100 * room:g}: no benchmark has as much ({HEADROOM_METRIC} of base: "
            f"{rooms}); allowed: a number that leaves at least one"
        )
    return left
