"""Runs of a variant stay within their row, however many there are, and equal ones lie apart."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ict_core.figures import components
from ict_core.figures._panels import draw_seeds


@pytest.mark.parametrize("room", [0.4, 0.75])
@pytest.mark.parametrize("number", [1, 2, 6, 20, 50])
def test_runs_lie_apart_and_within_their_row(number, room):
    axis = Figure().subplots()
    draw_seeds(axis, 3.0, np.full(number, 0.5), (0.5, 0.4, 0.6), "grpo", room=room)
    runs = [line for line in axis.lines if line.get_linestyle() == "None" and line.get_marker() != "|"]
    heights = runs[0].get_ydata()
    assert len(runs) == 1 and len(heights) == number
    assert np.mean(heights) == pytest.approx(3.0) and np.ptp(heights) <= room + 1e-9
    assert number == 1 or 0 < np.diff(heights).min() <= 0.2 * room + 1e-9


def test_a_study_of_one_run_an_arm_has_no_spread_to_show():
    columns = ["model", "variant", "benchmark", "metric", "source", "sd", "contribution"]
    [text] = components.draw(pd.DataFrame(columns=columns), ["grpo"]).axes[0].texts
    assert "no spread between runs" in " ".join(text.get_text().split())
