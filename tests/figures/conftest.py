"""Figures are drawn within matplotlib's settings, as `registry.draw` has it."""

import figure_frames
import pytest
from matplotlib import rc_context

from ict_core.figures.panels import RC


@pytest.fixture(autouse=True)
def settings_of_the_figures():
    with rc_context(RC):
        yield


@pytest.fixture(scope="module")
def frames():
    """Of a study of two models, eight variants and three seeds."""
    return figure_frames.whole_study()
