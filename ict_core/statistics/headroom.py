"""The benchmarks that leave a trained model room to gain: the deciding average is over these."""

import pandas as pd

from ict_core.errors import UserError
from ict_core.statistics.arms import run_frame
from ict_core.statistics.schemas import AVERAGE, BASE, ROUNDING

HEADROOM_METRIC = "pass@4"  # of the base model; no metric of the main table leaves it less room


def with_headroom(scores: pd.DataFrame, room: float) -> list[str]:
    """The benchmarks on which pass@4 of every untrained model is at least `room`, a share, below 1.

    They are in the order of `scores`, a frame of `records.SCORES`. The rule uses no trained model. A UserError if no
    benchmark is left.
    """
    runs = run_frame(scores[scores["variant"] == BASE], [HEADROOM_METRIC])
    runs = runs[runs["benchmark"] != AVERAGE]
    best = runs.groupby(["benchmark", "model"], sort=False)["value"].mean().groupby(level="benchmark", sort=False).max()
    chosen = [str(name) for name, value in best.items() if 1 - value >= room - ROUNDING]
    if not chosen:
        rooms = ", ".join(f"{name} {100 * value:.1f}" for name, value in best.items())
        raise UserError(
            f"evidence.validity.headroom_points {100 * room:g}: no benchmark has as much ({HEADROOM_METRIC} of base: "
            f"{rooms}); allowed: a number that leaves at least one"
        )
    return chosen
