"""Figures are drawn within matplotlib's settings, as `registry.draw` has it."""

import figure_frames
import pytest
import synthetic
from matplotlib import rc_context

from ict_core.figures.panels import RC


@pytest.fixture(autouse=True)
def settings_of_the_figures():
    with rc_context(RC):
        yield


@pytest.fixture(scope="session")
def frames():
    """Of a study of two models, eight variants and three seeds; tokens and rules of three variants."""
    runs = figure_frames.runs()
    of_scores = {"runs": runs, "levels": figure_frames.levels(runs), "contrasts": figure_frames.contrasts(runs)}
    return figure_frames.frames(variants=["grpo", "stapo", "ict-10"]) | of_scores | {"log": synthetic.log()}
